"""What decisions may use again of those before them: the same key and the same evidence, the same answer.

An engine has one memory for its tables, or none. Nothing in it changes a decision: an answer is used again
only while the evidence that it was computed from is the same, and without a memory every answer is computed.
A law compares plans with and without it. Decisions write nothing to the tables, so whatever outlives one is
here: the classes of groups that wait, and answers by subject.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from maar.core.cycle.classes import Classes


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

    def __len__(self) -> int:
        return len(self._now)


@dataclass(eq=False)
class Memory:
    """What an engine remembers from one decision to the next."""

    classes: Classes = field(default_factory=Classes)
    _subjects: dict[str, Answers] = field(default_factory=dict)

    def answers(self, subject: str) -> Answers:
        """The answers on a subject."""
        return self._subjects.setdefault(subject, Answers())
