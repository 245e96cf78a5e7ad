"""Queues and groups as sentences name them."""

from typing import Final

from maar.core.cycle.inspect import Inspection
from maar.core.fairshare.share_out import CONSTRAINTS
from maar.core.model.resources import roughly

_SOFT_GUARANTEE: Final = CONSTRAINTS.index("soft guarantee")
_FEW: Final = 3  # names in one message


class QueueTexts:
    """Parts of the sentences about one decision; what many of them say is worked out once."""

    def __init__(self, inspection: Inspection) -> None:
        self.tables, self.queues = inspection.tables, inspection.queues
        self._stands_on_soft = self.queues.shares.stands_on_soft
        self._siblings: dict[tuple[int, ...], tuple[str, str]] = {}

    def title(self, group: str) -> str:
        """A pod group as users name it: by the job that it is of."""
        row = self.tables.groups.get(group)
        return group if row is None else row.title

    def path(self, name: str) -> str:
        """A queue as users name it: its path from below the root."""
        row = self.tables.queues.get(name)
        if row is None or row.index <= 0:
            return name
        return "/".join(self.queues.rows[queue].name for queue in reversed(self.queues.paths[row.index]))

    def siblings(self, queue: int, resources: list[int]) -> tuple[str, str]:
        """The weight of a queue among its siblings, and which of them could give it more."""
        key = (queue, *resources)
        known = self._siblings.get(key)
        if known is None:
            known = self._siblings[key] = self._find_siblings(queue, resources)
        return known

    def _find_siblings(self, row: int, resources: list[int]) -> tuple[str, str]:
        ledger = self.queues
        parent = ledger.parent[row]
        siblings = [other for other in range(1, len(ledger.rows)) if ledger.parent[other] == parent]
        asking = [one for one in siblings if one == row or ledger.shares.request[resources[0], one]]
        weight = self._weight(ledger.rows[row].name)
        above = self.path(ledger.rows[parent].name)
        weights = f"{weight} of {_number(sum(ledger.weight[one] for one in asking))} under {above}"
        weights += self._soft_guarantees(row, siblings, resources)
        givers = [
            ledger.rows[one].name
            for one in siblings
            if one != row and any(ledger.used[one][resource] for resource in resources)
        ]
        names = ", ".join(self.path(name) for name in givers[:_FEW])
        change = f"it gets more when {names} releases" if givers else "it gets more when the cluster has more"
        return weights, change

    def _soft_guarantees(self, row: int, siblings: list[int], resources: list[int]) -> str:
        """Soft guarantees that come before weights: a queue's own where it binds, and its siblings'."""
        shares, names = self.queues.shares, self.tables.axis.names
        stands = self._stands_on_soft
        if stands is None or shares.soft_guarantee is None:
            return ""
        own = [resource for resource in resources if shares.binding[resource, row] == _SOFT_GUARANTEE]
        amounts = ", ".join(
            f"{names[one]} {roughly(names[one], int(shares.soft_guarantee[one, row]))}" for one in own
        )
        text = f", and its soft guarantee of {amounts}" if own else ""
        others = [one for one in siblings if one != row and stands[resources, one].any()]
        if others:
            named = ", ".join(self.path(self.queues.rows[one].name) for one in others[:_FEW])
            text += f", after the soft guarantees of {named}{' and others' if len(others) > _FEW else ''}"
        return text

    def _weight(self, queue: str) -> str:
        """The weight of a queue, and what past use makes of it."""
        row, factors = self.tables.queues[queue], self.tables.past_use.factors
        factor = 1.0 if factors is None else factors.factor(queue)
        return f"weight {row.queue.spec.weight}" + (f" x {_number(factor)}" if factor != 1 else "")


def _number(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{round(number, 2):g}"
