"""What was planned for a cluster, cycle by cycle: a value to print, to ask and to compare."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final, overload

from maar.core.answers.plan.ask import Json, plan_data
from maar.core.answers.plan.text import More, plan_lines
from maar.core.model.columns import Columns
from maar.core.model.plan import Plan, QueueStanding
from maar.core.model.writes import Evict
from maar.core.views.drawing import WIDTH, Line, Part, plain

_COLOURS: Final = {"green": "color: green", "yellow": "color: darkorange", "dim": "color: grey"}
_MORE: Final = More("text(wide=True)", "data()")


@dataclass(frozen=True, eq=False)
class Planned(Sequence[Plan], Columns):
    """The plans of one or more cycles, each applied before the next; prints as `maar plan` does."""

    cycles: tuple[Plan, ...]
    warnings: tuple[str, ...] = ()  # what was found in the manifests and the configuration

    @property
    def binds(self) -> Mapping[str, str]:
        """The node of each pod that would be bound, in any cycle."""
        return {bind.pod: bind.node for plan in self.cycles for bind in plan.binds}

    @property
    def evictions(self) -> tuple[Evict, ...]:
        """What would be evicted and for which groups, in any cycle."""
        return tuple(eviction for plan in self.cycles for eviction in plan.evictions)

    @property
    def waits(self) -> Mapping[str, str]:
        """The pod groups that wait after the last cycle, and why."""
        groups = sorted(self.cycles[-1].pod_groups.items())
        return {key: group.message for key, group in groups if group.refusal is not None}

    @property
    def queues(self) -> Mapping[str, QueueStanding]:
        """How the queues stand in the last cycle."""
        return self.cycles[-1].queues

    def data(self) -> Json:
        """Everything as plain data with exact quantities, as `maar plan -o json` prints it."""
        return {"cycles": [plan_data(each) for each in self.cycles]}

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Queues by resource, binds, evictions and waiting pod groups, each as columns by name."""
        last = len(self.cycles) - 1
        shares = [
            (name, resource, queue.deserved.get(resource, 0), queue.used.get(resource, 0))
            for name, queue in sorted(self.queues.items())
            for resource in sorted({*queue.deserved, *queue.used})
        ]
        numbered = list(enumerate(self.cycles))
        binds = [(cycle, bind.pod, bind.node) for cycle, plan in numbered for bind in plan.binds]
        evictions = [
            (cycle, eviction.pod, eviction.beneficiary, eviction.action)
            for cycle, plan in numbered
            for eviction in plan.evictions
        ]
        waits = [(last, group, why) for group, why in self.waits.items()]
        return {
            "queues": self.of_rows(("queue", "resource", "deserved", "used"), shares),
            "binds": self.of_rows(("cycle", "pod", "node"), binds),
            "evictions": self.of_rows(("cycle", "pod", "beneficiary", "action"), evictions),
            "waits": self.of_rows(("cycle", "group", "why"), waits),
        }

    @overload
    def __getitem__(self, cycle: int) -> Plan: ...

    @overload
    def __getitem__(self, cycle: slice) -> tuple[Plan, ...]: ...

    def __getitem__(self, cycle: int | slice) -> Plan | tuple[Plan, ...]:
        return self.cycles[cycle]

    def __len__(self) -> int:
        return len(self.cycles)

    def text(self, resource: str = "", *, wide: bool = False) -> str:
        """Draw it: one resource of the tree, or with `wide` a line for each."""
        return "\n".join(plain(line) for line in self._lines(resource, wide=wide))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        counts = (
            (len(self.cycles), "cycle"),
            (len(self.binds), "bind"),
            (len(self.evictions), "eviction"),
            (len(self.waits), "waiting group"),
        )
        counted = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
        return f"<Planned: {counted}; print() shows it>"

    def _repr_html_(self) -> str:
        """Show it in a notebook, in colour."""
        lines = ("".join(_html(part.text, part.style) for part in line) for line in self._lines())
        return f"<pre>{chr(10).join(lines)}</pre>"

    def _lines(self, resource: str = "", *, wide: bool = False) -> Iterator[Line]:
        for number, plan in enumerate(self.cycles, start=1):
            if len(self.cycles) > 1:
                yield (Part(f"=== Cycle {number} of {len(self.cycles)} ==="),)
            yield from plan_lines(plan, WIDTH, resource, _MORE, wide=wide)


def _html(text: str, style: str) -> str:
    colour = _COLOURS.get(style)
    return f'<span style="{colour}">{escape(text)}</span>' if colour else escape(text)
