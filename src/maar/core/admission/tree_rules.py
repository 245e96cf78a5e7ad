"""Rules about a queue's place in the tree."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from maar.core.admission.plain import brief, cut, listed
from maar.core.admission.queue_case import QueueCase
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule, about_others
from maar.core.model.queue import ROOT

_PARENT: Final = "spec.parent"


def root_parent(queue: QueueCase) -> Iterator[Problem]:
    """Nothing is above the root."""
    if queue.name == ROOT and queue.new.parent != ROOT:
        sentence = "of the queue root must be empty; remove it, root is the top of the tree"
        yield Problem(_PARENT, brief(queue.new.parent), sentence)


def parent_self(queue: QueueCase) -> Iterator[Problem]:
    """A queue is not its own parent."""
    if queue.name != ROOT and queue.new.parent == queue.name:
        sentence = "must not be the queue itself; name another queue or leave it empty"
        yield Problem(_PARENT, brief(queue.new.parent), sentence)


@about_others
def parent_exists(queue: QueueCase) -> Iterator[Problem]:
    """The parent is a queue that exists."""
    parent = queue.new.parent
    if _is_placed(queue) and parent != queue.name and queue.known.queue(parent) is None:
        sentence = f"is {brief(parent)}, and there is no such queue; create it first, or name another one"
        yield Problem(_PARENT, brief(parent), sentence)


@about_others
def parent_descendant(queue: QueueCase) -> Iterator[Problem]:
    """The parent is not below the queue itself."""
    parent = queue.known.queue(queue.new.parent)
    if _is_placed(queue) and parent is not None and queue.known.is_below(parent, queue.name):
        wrong = brief(queue.new.parent)
        sentence = f"is {wrong}, which is below {brief(queue.name)} itself; name a queue outside its subtree"
        yield Problem(_PARENT, wrong, sentence)


@about_others
def parent_jobs(queue: QueueCase) -> Iterator[Problem]:
    """The parent runs no jobs: only leaves hold work."""
    work = queue.known.work(queue.new.parent)
    if _is_placed(queue) and queue.new.parent != ROOT and work:
        wrong = brief(queue.new.parent)
        sentence = (
            f"is {wrong}, which runs jobs ({_counted(work)}), and only leaves do; "
            "let them finish, or name another parent"
        )
        yield Problem(_PARENT, wrong, sentence)


@about_others
def depth(queue: QueueCase) -> Iterator[Problem]:
    """The tree is at most as deep below the root as --max-queue-depth says."""
    if not _is_placed(queue) or not queue.has_place:
        return
    most = queue.options.max_queue_depth
    above = [one.metadata.name for one in queue.known.above(queue.new)]
    deepest = len(above) + queue.known.height(queue.name, most)
    if above[-1] == ROOT and deepest > most:
        wrong = brief(queue.new.parent)
        sentence = (
            f"is {wrong}, which puts queues {deepest} levels below root, and --max-queue-depth is {most}; "
            "name a parent nearer to root"
        )
        yield Problem(_PARENT, wrong, sentence)


@about_others
def request_leaf(queue: QueueCase) -> Iterator[Problem]:
    """Only a leaf declares a request."""
    children = queue.known.children(queue.name)
    is_new = queue.old is None or queue.old.spec.request is None
    if queue.spec.request is not None and is_new and children:
        sentence = f"is only for a leaf, and below this queue are {listed(list(children))}; declare it there"
        yield Problem("spec.request", cut(str(queue.spec.request)), sentence)
    parent = queue.known.queue(queue.new.parent)
    if _is_placed(queue) and parent is not None and parent.spec.request is not None:
        wrong = brief(queue.new.parent)
        sentence = (
            f"is {wrong}, which declares spec.request as only a leaf may; "
            "remove that request first, or name another parent"
        )
        yield Problem(_PARENT, wrong, sentence)


def _counted(work: Collection[str]) -> str:
    """How many of each kind: whoever makes a queue may not be allowed to know the names."""
    kinds = Counter(one.partition("/")[0].rpartition(" ")[0] for one in sorted(work))
    return ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in kinds.items())


def _is_placed(queue: QueueCase) -> bool:
    """Whether its place is to be judged; one that stays where it is may be edited, however bad the place."""
    return queue.is_moved and queue.name != ROOT


RULES: Final[Mapping[str, Rule[QueueCase]]] = {
    "queue-root-parent": root_parent,
    "queue-parent-self": parent_self,
    "queue-parent-exists": parent_exists,
    "queue-parent-descendant": parent_descendant,
    "queue-parent-jobs": parent_jobs,
    "queue-depth": depth,
    "queue-request-leaf": request_leaf,
}
