"""The rules of one resource, and how they are applied: what cannot be read is not checked any further."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Generic, TypeVar

from maar.core.admission.case import Case
from maar.core.admission.plain import brief, cut, has_more_values, value_at
from maar.core.admission.request import CREATE, DELETE, Finding, Problem, Verdict
from maar.core.model.kinds import BadObjectError

SubjectT = TypeVar("SubjectT")
Rule = Callable[[SubjectT], Iterable[Problem]]

RuleT = TypeVar("RuleT", bound=Callable[..., Iterable[Problem]])

_ABOUT_OTHERS: Final = "is_about_others"
_MOST_VALUES: Final = 100_000  # a job of 256 tasks has half as many; they keep a review within 0.3 s
_MOST_FINDINGS: Final = 20  # in one answer
_LONGEST_PROBLEM: Final = 200
_LONGEST_FIELD: Final = 253
_LONGEST_SENTENCE: Final = 1_000
_WHOLE: Final = "object"


def about_others(rule: RuleT) -> RuleT:
    """Mark a rule whose answer a change of another object can overturn.

    A client that applies a queue and then its child, or a namespace and then a job in it, does both within a
    hundredth of a second: the first change may not have been received yet.
    """
    setattr(rule, _ABOUT_OTHERS, True)
    return rule


@dataclass(frozen=True)
class Rulebook(Generic[SubjectT]):
    """Rules by id, in the order of their findings; the docstring of each states the rule."""

    noun: str  # for such an object, in messages and ids
    read: Callable[[Case], SubjectT]  # raises BadObjectError where it cannot
    guard: Mapping[str, Rule[Case]] = field(default_factory=dict)  # applied to every request
    readable: Mapping[str, Rule[Case]] = field(default_factory=dict)  # applied first, to plain values
    create: Mapping[str, Rule[SubjectT]] = field(default_factory=dict)
    update: Mapping[str, Rule[SubjectT]] = field(default_factory=dict)
    delete: Mapping[str, Rule[Case]] = field(default_factory=dict)
    warnings: Mapping[str, Rule[SubjectT]] = field(default_factory=dict)
    annotations: tuple[str, ...] = ()  # that rules read; without one of them or the spec nothing is judged
    concerns: Callable[[Case], bool] = lambda _case: True

    @property
    def shape(self) -> str:
        """The rule that an object is what the API says it is."""
        return f"{self.noun.replace(' ', '')}-shape"

    def judge(self, case: Case) -> Verdict:
        """Apply the rules; there is a verdict for any input."""
        try:
            return self._judge(case)
        except RecursionError:
            deep = BadObjectError("", "nested too deeply to be an object of Kubernetes")
            return Verdict((self._unread(case, deep),))

    def _judge(self, case: Case) -> Verdict:
        if not self.concerns(case):
            return Verdict()
        refusals = _found(self.guard, case)
        if refusals or case.request.subresource or case.is_leaving:
            return Verdict(refusals)
        if not case.has_new_spec and not case.has_new_annotation(self.annotations):
            return Verdict()
        if case.request.operation == DELETE:
            return Verdict(_found(self.delete, case))
        return self._judge_object(case)

    def _judge_object(self, case: Case) -> Verdict:
        """Check first what can be read; there are no warnings about what is refused."""
        if has_more_values(case.new, _MOST_VALUES):
            return Verdict(
                (self._unread(case, BadObjectError("", f"it has more than {_MOST_VALUES} values")),)
            )
        if unreadable := _found(self.readable, case):
            return Verdict(unreadable)
        try:
            subject = self.read(case)
        except BadObjectError as error:
            return Verdict((self._unread(case, error),))
        is_new = case.request.operation == CREATE
        refusals = _found(self.create if is_new else self.update, subject)
        return Verdict(refusals, () if refusals else _found(self.warnings, subject))

    def ids_about_others(self) -> Iterator[str]:
        """The ids of the rules whose answer a change of another object can overturn."""
        return (name for name, rule in self._all().items() if getattr(rule, _ABOUT_OTHERS, False))

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Every rule by its id, with its sentence."""
        for name, rule in self._all().items():
            yield name, f"{rule.__doc__}{' (A warning.)' if name in self.warnings else ''}"

    def _all(self) -> dict[str, Callable[..., object]]:
        rules: dict[str, Callable[..., object]] = {**self.guard, **self.readable}
        if self.create:
            rules[self.shape] = self.read
        return rules | {**self.create, **self.update, **self.delete, **self.warnings}

    def _unread(self, case: Case, error: BadObjectError) -> Finding:
        path = cut(error.path, _LONGEST_FIELD) or _WHOLE
        top = path.split(".", 1)[0].split("[", 1)[0]
        hint = f"kubectl explain {self.noun.replace(' ', '')}{'' if path == _WHOLE else f'.{top}'}"
        problem = cut(error.problem, _LONGEST_PROBLEM)
        value = brief(value_at(case.new, error.path)) if error.path else brief(case.new)
        return Finding(self.shape, path, value, f"cannot be read: {problem}; {hint} says what belongs there")


def _found(rules: Mapping[str, Rule[SubjectT]], subject: SubjectT) -> tuple[Finding, ...]:
    return tuple(islice(_all(rules, subject), _MOST_FINDINGS))


def _all(rules: Mapping[str, Rule[SubjectT]], subject: SubjectT) -> Iterator[Finding]:
    for name, rule in rules.items():
        for problem in rule(subject):
            sentence = cut(problem.sentence, _LONGEST_SENTENCE)  # clients choose names and keys
            yield Finding(name, cut(problem.field, _LONGEST_FIELD), cut(problem.value), sentence)
