"""What decisions may use again of those before them: the same key and the same evidence, the same answer.

An engine has one memory for its tables, or none. Nothing in it changes a decision: an answer is
used again only while the evidence that it was computed from is the same, and without a memory every
answer is computed. A law compares plans with and without it. Decisions write nothing to the tables,
so whatever outlives one is here: the classes of groups that wait, answers by subject, and the last
plan.

The last plan is the answer to the largest question. Where it does nothing, and nothing has changed
since, it holds until the time from which time alone may change the decision, which the plan says
itself. With `sla` or `usage` more depends on the time, and every decision is worked out.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from maar.core.cycle.classes import Classes
from maar.core.model.plan import Plan


@dataclass(eq=False)
class Answers:
    """Answers on one subject: those of the decision before, and those of this one."""

    basis: object = None  # what all of them were computed from
    _before: dict[Hashable, tuple[object, object]] = field(default_factory=dict)
    _now: dict[Hashable, tuple[object, object]] = field(default_factory=dict)

    def begin(self, basis: object) -> None:
        """Begin a decision; all answers are forgotten where they were computed from something else."""
        is_same = self.basis is not None and self.basis == basis
        self.basis, self._before, self._now = basis, self._now if is_same else {}, {}

    def recall(self, key: Hashable, evidence: object) -> object | None:
        """The answer that was computed from the same evidence; None where there is none."""
        known = self._now.get(key) or self._before.get(key)
        if known is None or known[0] != evidence:
            return None
        self._now[key] = known
        return known[1]

    def keep(self, key: Hashable, evidence: object, answer: object) -> None:
        """Keep an answer for the next decision, with the evidence that it was computed from."""
        self._now[key] = evidence, answer

    def retain(self, keys: Iterable[Hashable]) -> None:
        """Keep the answers to some keys for the next decision although this one did not ask for them."""
        now, before = self._now, self._before
        now.update([(key, before[key]) for key in keys if key in before])

    def __len__(self) -> int:
        return len(self._now)


class _LastPlan(NamedTuple):
    """A plan that does nothing, what it was decided on, and when."""

    evidence: object
    begin: float
    end: float
    plan: Plan


@dataclass(eq=False)
class Memory:
    """What an engine remembers from one decision to the next."""

    classes: Classes = field(default_factory=Classes)
    _subjects: dict[str, Answers] = field(default_factory=dict)
    _last: _LastPlan | None = None

    def recall_plan(self, evidence: object, now: float) -> Plan | None:
        """The last plan, if it was decided on the same and still holds."""
        last = self._last
        if last is None or last.evidence != evidence or not last.begin <= now < last.end:
            return None
        return last.plan

    def keep_plan(self, evidence: object, now: float, plan: Plan) -> None:
        """Keep a plan, if it does nothing."""
        does_something = (
            plan.binds
            or plan.evictions
            or plan.nominations
            or plan.selections
            or plan.resumptions
            or plan.gate_removals
            or plan.held_room
        )
        end = inf if plan.decide_again_at is None else plan.decide_again_at
        self._last = None if does_something else _LastPlan(evidence, now, end, plan)

    def answers(self, subject: str) -> Answers:
        """The answers on a subject."""
        return self._subjects.setdefault(subject, Answers())
