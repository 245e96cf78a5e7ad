"""What a scheduler decides, in its log: a line for every decision (`-v`), and one for every pod (`-vv`)."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from maar.core.model.plan import Plan
from maar.core.model.pod_group import PodGroupPhase
from maar.core.tables.rows import GroupRow

DECISIONS: Final = "maar.decisions"  # the name of the logger

_LOG: Final = logging.getLogger(DECISIONS)


@dataclass(eq=False)
class DecisionLog:
    """Writes the lines; remembers the last reason logged for each pod group."""

    _phases: dict[str, PodGroupPhase] = field(default_factory=dict)  # as decided last
    _reasons: dict[str, str] = field(default_factory=dict)  # of the groups that wait

    def write(self, plan: Plan, groups: dict[str, GroupRow], seconds: float) -> None:
        """Write down a decision, before it is carried out."""
        if not _LOG.isEnabledFor(logging.INFO):
            return
        let_in = [key for key in plan.pod_groups if self._is_let_in(plan, groups, key)]
        waiting = sum(one.refusal is not None for one in plan.pod_groups.values())
        changes = {"bound": len(plan.binds), "evicted": len(plan.evictions), "let_in": len(let_in)}
        _LOG.info("decided in %.0f ms", seconds * 1000, extra={**changes, "waiting": waiting})
        if _LOG.isEnabledFor(logging.DEBUG):
            for line in self._details(plan, let_in):
                _LOG.debug("%s", line)
        self._phases = {key: one.phase for key, one in plan.pod_groups.items()}
        self._reasons = {
            key: one.refusal.reason for key, one in plan.pod_groups.items() if one.refusal is not None
        }

    def _is_let_in(self, plan: Plan, groups: dict[str, GroupRow], key: str) -> bool:
        """Whether a group has just left Pending; that it has may not have been written yet."""
        stored = groups[key].phase if key in groups else "Pending"
        known = self._phases.get(key, stored)
        return known == "Pending" != plan.pod_groups[key].phase

    def _details(self, plan: Plan, let_in: list[str]) -> Iterator[str]:
        for key in let_in:
            yield f"pod group {key} is let in"
        for bind in plan.binds:
            yield f"pod {bind.pod} is bound to {bind.node}"
        for evict in plan.evictions:
            for_whom = f" for pod group {evict.beneficiary}" if evict.beneficiary else ""
            yield f"pod {evict.pod} is evicted by {evict.action}{for_whom}"
        for key, outcome in plan.pod_groups.items():
            if outcome.refusal is not None and self._reasons.get(key) != outcome.refusal.reason:
                yield f"{_named(key)} waits ({outcome.refusal.reason}): {outcome.message}"


def _named(key: str) -> str:
    """A pod group, or a pod that waits for one to be made."""
    namespace, _, name = key.partition("/pod/")
    return f"pod {namespace}/{name}" if name else f"pod group {key}"
