"""Resource quotas: running totals, kept in the transaction of every write that changes them."""

from collections.abc import Iterable
from copy import deepcopy

from maar.embedded.behaviour import Behaviour
from maar.embedded.calls import Call, metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json, forbidden
from maar.embedded.kinds.amounts import NOTHING, Amounts, add, amounts, minus, plus, shown
from maar.embedded.kinds.parts import part
from maar.embedded.kinds.usage import MUST_BE_SPECIFIED, counted_by, in_scope, unspecified, usage

PLURAL = "resourcequotas"


class Ledger:
    """Counts objects in the quotas of their namespaces; without quotas it costs one lookup in a set."""

    def __init__(self) -> None:
        self._limited: set[str] | None = None

    def open(self, cluster: Cluster, namespace: str) -> None:
        """Begin to count in a namespace. One that has lost its quotas is looked into until the next start."""
        self._namespaces(cluster).add(namespace)

    def record(self, cluster: Cluster, plural: str, old: Json | None, new: Json | None) -> None:
        """Count what a write has changed; refuse it where a quota does not allow it."""
        value = old if new is None else new
        namespace = "" if value is None else text(metadata(value), "namespace")
        if namespace not in self._namespaces(cluster):
            return
        before = {} if old is None else usage(plural, old)
        after = {} if new is None else usage(plural, new)
        if before != after or part(old or {}, "spec") != part(new or {}, "spec"):
            for quota in cluster.all(PLURAL, namespace):
                _Entry(cluster, quota, plural).write(old, before, new, after)

    def _namespaces(self, cluster: Cluster) -> set[str]:
        if self._limited is None:
            self._limited = {namespace for namespace, _, _ in cluster.store.page(PLURAL, None)}
        return self._limited


class Counted(Behaviour):
    """A kind whose objects quotas can count; where it has a status, that starts the same for all."""

    def __init__(self, ledger: Ledger, plural: str, status: Json | None = None) -> None:
        self._ledger, self._plural, self._status = ledger, plural, status

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Start with a clean status whatever the client sent."""
        del cluster, call
        if self._status is not None:
            value["status"] = deepcopy(self._status)

    def stored(self, cluster: Cluster, old: Json | None, value: Json | None) -> None:
        """Count the write."""
        self._ledger.record(cluster, self._plural, old, value)


class ResourceQuotas(Counted):
    """A quota knows what its namespace uses from the moment it is there."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, PLURAL)

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Measure what is used already."""
        del call
        namespace, spec = text(metadata(value), "namespace"), part(value, "spec")
        self._ledger.open(cluster, namespace)
        hard = part(spec, "hard")
        value["status"] = {"hard": dict(hard), "used": _measured(cluster, namespace, spec, hard)}

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Measure what was not counted before; clients cannot write totals."""
        del call
        value["status"] = old.get("status", {})
        spec = part(value, "spec")
        if subresource == "status" or part(old, "spec") == spec:
            return
        hard = part(spec, "hard")
        kept = {name: used for name, used in part(old, "status", "used").items() if name in hard}
        namespace = text(metadata(value), "namespace")
        fresh = _measured(cluster, namespace, spec, hard.keys() - kept.keys())
        value["status"] = {"hard": dict(hard), "used": {**kept, **fresh}}


class _Entry:
    """One write in one quota."""

    def __init__(self, cluster: Cluster, quota: Json, plural: str) -> None:
        self._cluster, self._quota, self._plural = cluster, quota, plural
        self._name = text(metadata(quota), "name")
        self._spec = part(quota, "spec")
        self._used = amounts(part(quota, "status", "used"))

    def write(self, old: Json | None, before: Amounts, new: Json | None, after: Amounts) -> None:
        if old is None or not in_scope(self._spec, old):
            before = {}
        if new is None or not in_scope(self._spec, new):
            after = {}
        elif old is None and self._plural == "pods":
            self._check_specified(new)
        changes = {
            name: minus(after.get(name, NOTHING), before.get(name, NOTHING))
            for name in self._used
            if after.get(name, NOTHING).nanos != before.get(name, NOTHING).nanos
        }
        if not changes:
            return
        # A change of what an object uses, for example because its pod has finished, is not checked.
        if new is not None and (old is None or part(old, "spec") != part(new, "spec")):
            self._check_limits(new, changes)
        totals = {name: str(plus(self._used[name], change)) for name, change in changes.items()}

        def counted(quota: Json) -> Json:
            used = {**part(quota, "status", "used"), **totals}
            return {**quota, "status": {**part(quota, "status"), "used": used}}

        namespace = text(metadata(self._quota), "namespace")
        self._cluster.rewrite(PLURAL, namespace, self._name, counted)

    def _check_specified(self, pod: Json) -> None:
        must = MUST_BE_SPECIFIED.intersection(part(self._spec, "hard"))
        if must and (missing := unspecified(part(pod, "spec"), must)):
            missing_text = "; ".join(f"{name} for: {','.join(where)}" for name, where in missing.items())
            raise self._refusal(pod, f"failed quota: {self._name}: must specify {missing_text}")

    def _check_limits(self, value: Json, changes: Amounts) -> None:
        hard = amounts(part(self._spec, "hard"))
        exceeded = [
            name
            for name, change in changes.items()
            if change.nanos > 0 and self._used[name].nanos + change.nanos > hard.get(name, NOTHING).nanos
        ]
        if exceeded:
            raise self._refusal(
                value,
                f"exceeded quota: {self._name}, requested: {shown(changes, exceeded)},"
                f" used: {shown(self._used, exceeded)}, limited: {shown(hard, exceeded)}",
            )

    def _refusal(self, value: Json, why: str) -> Exception:
        return forbidden(self._plural, text(metadata(value), "name"), why)


def _measured(cluster: Cluster, namespace: str, spec: Json, names: Iterable[str]) -> Json:
    """What the objects that are there use of these names."""
    total: Amounts = {}
    by_plural: dict[str, list[str]] = {}
    for name in names:
        if (plural := counted_by(name)) in cluster.served:
            total[name] = NOTHING
            by_plural.setdefault(plural, []).append(name)
    for plural, wanted in by_plural.items():
        for value in cluster.all(plural, namespace):
            if in_scope(spec, value):
                used = usage(plural, value)
                add(total, {name: used[name] for name in wanted if name in used})
    return {name: str(amount) for name, amount in total.items()}
