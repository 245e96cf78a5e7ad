"""Rules for Volcano's annotations of a hierarchy of queues; Maar's own tree is made by spec.parent."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final

from maar.core.admission.case import Case
from maar.core.admission.plain import below, brief, cut, text_at
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule

PATH: Final = "volcano.sh/hierarchy"
WEIGHTS: Final = "volcano.sh/hierarchy-weights"
_MOST_LEVELS: Final = 64


def hierarchy(case: Case) -> Iterator[Problem]:
    """The annotations of a hierarchy have as many weights, all above 0, as levels, and lead to a leaf."""
    path, weights = _annotation(case.new, PATH), _annotation(case.new, WEIGHTS)
    if not path and not weights:
        return
    levels, numbers = path.split("/"), weights.split("/")
    if len(levels) != len(numbers) or len(levels) > _MOST_LEVELS:
        sentence = (
            f"has {len(levels)} levels and {brief(weights)} {len(numbers)}: {PATH} must have the same length "
            f"with {WEIGHTS}, at most {_MOST_LEVELS}; write one weight for each level"
        )
        yield Problem(_field(PATH), brief(path), sentence)
        return
    for number in numbers:
        if problem := _bad_weight(number):
            sentence = (
                f"is {brief(weights)}: {cut(number)} in the {cut(weights)} {problem}; write for example 1/2/4"
            )
            yield Problem(_field(WEIGHTS), brief(weights), sentence)
            return
    for name, other in case.known.annotated(PATH):
        if name != case.name and other.startswith(f"{path}/"):
            sentence = (
                f"is {brief(path)}, which is not allowed to be in the sub path of {cut(other)} of queue "
                f"{cut(name)}: only leaves hold work; name a path of its own"
            )
            yield Problem(_field(PATH), brief(path), sentence)
            return


def _bad_weight(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return "is invalid number"
    return "" if isfinite(number) and number > 0 else "must be larger than 0"


def _annotation(document: object, name: str) -> str:
    return text_at(document, "metadata", "annotations", name)


def _field(name: str) -> str:
    return below("metadata.annotations", name)


READABLE: Final[Mapping[str, Rule[Case]]] = {"queue-hierarchy": hierarchy}
