"""Where new work may go: into a queue that exists, is a leaf, is Open, and is for its namespace."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.plain import brief, cut, listed
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule, about_others
from maar.core.model.queue import ALWAYS_OPEN, ROOT, Queue
from maar.core.model.queue_state import NOT_OPEN, asked_to_close_by
from maar.core.policy.selectors import match_selector


@dataclass(frozen=True)
class Destination:
    """The queue that new work asks for, where it says so, and on whose behalf."""

    queue: str
    field: str
    namespace: str
    is_named: bool = True  # False: the field is empty, and this is where it leads


class Work(Protocol):
    """Something that goes into a queue; without a destination it was admitted before, or keeps its queue."""

    @property
    def destination(self) -> Destination | None:
        """Where it goes, if that is to be judged."""

    @property
    def known(self) -> KnownCluster:
        """The cluster that it goes into."""


@about_others
def queue_exists(work: Work) -> Iterator[Problem]:
    """Work goes only into a queue that exists."""
    place = work.destination
    if place is not None and work.known.queue(place.queue) is None:
        hint = (
            f", which namespace {cut(place.namespace)} is annotated with"
            if work.known.queue_of(place.namespace) == place.queue
            else ""
        )
        sentence = (
            f"{_leads_to(place)}{hint}: unable to find job queue, there is none of this name; "
            "create it, or name another one (kubectl get queues lists them)"
        )
        yield Problem(place.field, brief(place.queue), sentence)


@about_others
def queue_leaf(work: Work) -> Iterator[Problem]:
    """Work goes only into a leaf; the leaves below an inner queue are named."""
    place, queue = _found(work)
    if place is None or queue is None:
        return
    if place.queue == ROOT or work.known.children(place.queue):
        leaves = work.known.leaves(place.queue, most=6)
        below = f"name a leaf below it: {listed(leaves)}" if leaves else "name a leaf"
        yield Problem(place.field, brief(place.queue), f"{_leads_to(place)}, which is no leaf; {below}")


@about_others
def queue_open(work: Work) -> Iterator[Problem]:
    """Work goes only into an Open queue, below queues that are not asked to close either."""
    place, queue = _found(work)
    if place is None or queue is None:
        return
    asked = asked_to_close_by((queue, *work.known.above(queue)))
    if asked is None and (queue.status.state not in NOT_OPEN or place.queue in ALWAYS_OPEN):
        return
    state = queue.status.state if queue.status.state in NOT_OPEN else "Closed"
    if asked is None:
        todo = "it is being opened: try again in a moment"
    elif asked is queue:
        todo = "open it (maar queue open), or name another queue"
    else:
        todo = f"{asked.metadata.name} above it is closed: open that, or name another queue"
    sentence = (
        f"{_leads_to(place)}: can only submit job to queue with state `Open`, "
        f"queue `{cut(place.queue)}` status is `{state}`; {todo}"
    )
    yield Problem(place.field, brief(place.queue), sentence)


@about_others
def queue_namespace(work: Work) -> Iterator[Problem]:
    """Work goes only into a queue whose namespace selector, if it has one, matches the namespace."""
    place, queue = _found(work)
    if place is None or queue is None or queue.spec.namespace_selector is None:
        return
    labels = work.known.labels(place.namespace)
    if not match_selector(queue.spec.namespace_selector, labels):
        has = listed([f"{key}={value}" for key, value in sorted(labels.items())])
        sentence = (
            f"{_leads_to(place)}, whose spec.namespaceSelector does not match namespace "
            f"{cut(place.namespace)} ({has}); name another queue, or label the namespace as the selector asks"
        )
        yield Problem(place.field, brief(place.queue), sentence)


def set_aside(work: Work) -> Iterator[Problem]:
    """A queue whose parents do not lead to the root schedules nothing."""
    place, queue = _found(work)
    if place is not None and queue is not None and queue.metadata.name != ROOT:
        way = [queue, *work.known.above(queue)]
        if way[-1].metadata.name != ROOT:
            sentence = (
                f"{_leads_to(place)}, which is set aside: nothing is scheduled there until the parent of "
                f"{way[-1].metadata.name} is put right"
            )
            yield Problem(place.field, brief(place.queue), sentence)


def rules_of(word: str) -> dict[str, Rule[Work]]:
    """Where new work of some kind may go, with the ids that start with its word."""
    return {
        f"{word}-queue-exists": queue_exists,
        f"{word}-queue-leaf": queue_leaf,
        f"{word}-queue-open": queue_open,
        f"{word}-queue-namespace": queue_namespace,
    }


def _found(work: Work) -> tuple[Destination | None, Queue | None]:
    place = work.destination
    return place, None if place is None else work.known.queue(place.queue)


def _leads_to(place: Destination) -> str:
    return f"is {brief(place.queue)}" if place.is_named else f"is not set and leads to {brief(place.queue)}"
