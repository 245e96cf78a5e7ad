"""Rules about deleting queues."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.case import Case
from maar.core.admission.plain import brief, listed, text_at
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule, about_others
from maar.core.model.queue import ALWAYS_OPEN, ROOT


def protected(case: Case) -> Iterator[Problem]:
    """The queues `root` and `default` are never deleted."""
    if case.name in ALWAYS_OPEN:
        sentence = f"is {case.name}: `{case.name}` queue can not be deleted; delete queues below root instead"
        yield Problem("metadata.name", brief(case.name), sentence)


@about_others
def childless(case: Case) -> Iterator[Problem]:
    """A queue with children is not deleted."""
    children = list(case.known.children(case.name))
    if children and case.name != ROOT:
        sentence = f"is {brief(case.name)}, which has children: {listed(children)}; delete or move them first"
        yield Problem("metadata.name", brief(case.name), sentence)


def closed(case: Case) -> Iterator[Problem]:
    """Only a queue whose status says Closed is deleted."""
    known = case.known.queue(case.name)
    if case.old is not None:
        stored: str = text_at(case.old, "status", "state")
    else:
        stored = known.status.state if known is not None else "Closed"  # what is not there may go
    if stored != "Closed" and case.name not in ALWAYS_OPEN:
        state = stored or "Open"
        sentence = (
            f"is {brief(state)}: only queue with state `Closed` can be deleted; "
            "close it (maar queue close) and wait until its jobs have finished"
        )
        yield Problem("status.state", brief(state), sentence)


RULES: Final[Mapping[str, Rule[Case]]] = {
    "queue-delete-protected": protected,
    "queue-delete-children": childless,
    "queue-delete-state": closed,
}
