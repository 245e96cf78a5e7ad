"""Fair shares for people: plain data in, values that print well out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np

from maar.core.fairshare.dominant import reserved, roll_up_used, share
from maar.core.fairshare.queue_demand import LARGEST_AMOUNT, BadQueueDemandError, QueueDemand
from maar.core.fairshare.share_out import CONSTRAINTS, DemandColumns, ShareColumns, share_columns
from maar.core.fairshare.tree import QueueTree
from maar.core.fairshare.water_fill import Floats, Ints
from maar.core.fairshare.weight_factors import ScaledWeights
from maar.core.model.columns import Columns
from maar.core.model.plan import Constraint
from maar.core.model.queue import ROOT
from maar.core.model.resources import Amounts, BadAmountError, Percentages, Resources, roughly

AmountsT = TypeVar("AmountsT", bound=Amounts)

_FIELDS: Final = (
    "parent", "weight", "guarantee", "percentage", "soft_guarantee", "capability",
    "request", "used", "created",
)  # fmt: skip


@dataclass(frozen=True)
class Share:
    """What one queue gets, in whole units by resource, and what keeps it from getting more."""

    name: str
    parent: str
    weight: int
    deserved: Resources
    real_capability: Resources
    guarantee: Resources  # in force
    soft_guarantee: Resources  # as it declares it; of the resources that it names
    floor: Resources  # the guarantee, or as much of the soft one as holds together with the siblings'
    request: Resources  # of an inner queue, what its children may get
    ceiling: Resources
    used: Resources
    reserved: Resources
    share: float
    binding: Mapping[str, Constraint]
    reduced: bool
    factor: Fraction = Fraction(1)  # what its weight was multiplied by

    def __str__(self) -> str:
        why = ", ".join(f"{resource} by {constraint}" for resource, constraint in self.binding.items())
        return f"{self.name} deserves {self.deserved}" + (f" (bound: {why})" if why else "")


@dataclass(frozen=True, eq=False)
class FairShares(Mapping[str, Share], Columns):
    """The answer for a whole tree; ask it by queue name, or print it."""

    tree: QueueTree
    claims: DemandColumns
    columns: ShareColumns
    used_columns: Ints  # [R, Q] of leaves
    weights: ScaledWeights | None = None  # None: the weights of the claims

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that were shared out."""
        return self.claims.resources

    @property
    def set_aside(self) -> Mapping[str, str]:
        """Queues that take no part, each with the sentence that says why."""
        return self.tree.set_aside

    def __getitem__(self, name: str) -> Share:
        row, columns = self.tree.row[name], self.columns
        claim, binding = self.tree.claims[row], columns.binding[:, row]
        return Share(
            name=name,
            parent="" if name == ROOT else claim.parent,
            weight=claim.weight,
            factor=Fraction(1) if self.weights is None else self.weights.of(row) / claim.weight,
            deserved=self._amounts(columns.deserved, row),
            real_capability=self._amounts(columns.real_capability, row),
            guarantee=self._amounts(columns.guarantee, row),
            soft_guarantee=Resources(claim.soft_guarantee),
            floor=self._amounts(columns.floor, row),
            request=self._amounts(columns.request, row),
            ceiling=self._amounts(columns.ceiling, row),
            used=self._amounts(self._used, row),
            reserved=self._amounts(self._held, row),
            share=float(self._share[row]),
            binding={
                resource: CONSTRAINTS[code]
                for resource, code in zip(self.resources, binding, strict=True)
                if name != ROOT
            },
            reduced=bool(columns.reduced[row]),
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.tree.names)

    def __len__(self) -> int:
        return len(self.tree.names)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """A row for every queue and resource, amounts in whole units."""
        names = (
            "queue",
            "resource",
            "deserved",
            "real_capability",
            "guarantee",
            "request",
            "used",
            "reserved",
        )
        amounts = (*(getattr(self.columns, name) for name in names[2:6]), self._used, self._held)
        rows = [
            (queue, resource, *(int(column[r, q]) for column in amounts))
            for q, queue in enumerate(self.tree.names)
            for r, resource in enumerate(self.resources)
        ]
        return {"queues": self.of_rows(names, rows)}

    def __str__(self) -> str:
        return "\n".join(_drawn(self))

    @cached_property
    def _used(self) -> Ints:
        return roll_up_used(self.tree, self.used_columns)

    @cached_property
    def _held(self) -> Ints:
        return reserved(self.tree, self.used_columns, self.columns.guarantee, self.claims.guarantee)

    @cached_property
    def _share(self) -> Floats:
        return share(self._used, self.columns.deserved)

    def _amounts(self, columns: Ints, row: int) -> Resources:
        return Resources(dict(zip(self.resources, columns[:, row].tolist(), strict=True)))


def share_out(
    tree: QueueTree, total: Mapping[str, int], used: Mapping[str, Mapping[str, int]] | None = None
) -> FairShares:
    """Share a total out over a tree of claims, in whole units; `used` is what leaves use now."""
    used = used or {}
    claims = DemandColumns.of(
        tree, total, also={resource for amounts in used.values() for resource in amounts}
    )
    used_columns = np.zeros(claims.request.shape, np.int64)
    for name, amounts in used.items():
        for resource, amount in amounts.items():
            used_columns[claims.resources.index(resource), tree.row[name]] = min(amount, LARGEST_AMOUNT)
    return FairShares(tree, claims, share_columns(tree, claims), used_columns)


def fair_shares(total: Mapping[str, object], queues: Mapping[str, Mapping[str, object]]) -> FairShares:
    """Share a total out over queues given as plain data; amounts are quantities as in Kubernetes.

    Every queue may have parent, weight, guarantee, percentage, capability, request, used and created.
    What cannot take part is refused with what to do about it: unknown fields, bad amounts, queues that do
    not lead to the root.
    """
    tree = QueueTree.of([_claim(name, data) for name, data in queues.items()])
    if tree.set_aside:
        raise BadQueueDemandError("; ".join(sorted(set(tree.set_aside.values()))))
    used = {name: _amounts(name, "used", data) for name, data in queues.items() if data.get("used")}
    for name in used:
        if name not in tree.leaves:
            raise BadQueueDemandError(
                f"queue {name}: used is given for leaves; what is above them adds up by itself"
            )
    return share_out(tree, _read("the total", Resources.parse, total), used)


def _claim(name: str, data: Mapping[str, object]) -> QueueDemand:
    unknown = [key for key in data if key not in _FIELDS]
    if unknown:
        raise BadQueueDemandError(
            f"queue {name}: {unknown[0]!r} is not known; a queue has {', '.join(_FIELDS)}"
        )
    return QueueDemand(
        name=name,
        parent=str(data.get("parent") or ROOT),
        weight=cast("int", data.get("weight", 1)),  # checked by the claim itself
        guarantee=_amounts(name, "guarantee", data),
        percentage=_read(f"queue {name}: percentage of", Percentages.parse, data.get("percentage") or {}),
        soft_guarantee=_amounts(name, "soft_guarantee", data),
        capability=_amounts(name, "capability", data),
        request=_amounts(name, "request", data),
        created=cast("float", data.get("created", 0.0)),
    )


def _amounts(name: str, field: str, data: Mapping[str, object]) -> Resources:
    return _read(f"queue {name}: {field} of", Resources.parse, data.get(field) or {})


def _read(what: str, parse: Callable[[Mapping[str, object]], AmountsT], data: object) -> AmountsT:
    if not isinstance(data, Mapping):
        raise BadQueueDemandError(
            f"{what.removesuffix(' of')}: {data!r} is no map of resources to quantities"
        )
    try:
        return parse(data)
    except BadAmountError as error:
        raise BadQueueDemandError(f"{what} {error}") from None


def _drawn(shares: FairShares) -> list[str]:
    """Draw the tree as a table: a line for a queue, a column for a resource."""
    rows = [["queue", "weight", *shares.resources], *_rows(shares, ROOT, "", "")]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _rows(shares: FairShares, name: str, branch: str, below: str) -> Iterator[list[str]]:
    one = shares[name]
    cells = [_cell(one, resource) for resource in shares.resources]
    yield [branch + name, str(one.weight) if name != ROOT else "", *cells]
    children = shares.tree.children(name)
    for child in children:
        last = child == children[-1]
        yield from _rows(
            shares, child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")
        )


def _cell(one: Share, resource: str) -> str:
    deserved = roughly(resource, one.deserved[resource])
    if resource not in one.binding:
        return deserved
    return f"{deserved} of {roughly(resource, one.request[resource])}, {one.binding[resource]}"
