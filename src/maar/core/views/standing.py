"""How the queues of a cluster stand: what they ask for, use and deserve, straight from its objects."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from maar.core.fairshare import Claim, FairShares, QueueTree, share_out
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import DEFAULT, ROOT, Queue
from maar.core.model.resources import Resources

_NOTHING: Final = Resources()

ObjectT = TypeVar("ObjectT", bound=Object)


def standing(objects: Iterable[Object]) -> FairShares:
    """Share a cluster's resources out over its queues.

    The budget is what ready, schedulable nodes have, less what pods outside the leaf queues hold there, plus
    what the queues' pods hold on ready nodes that take no more. A leaf asks for its declared request, or for
    its unfinished pod groups.
    """
    things = list(objects)
    nodes, groups, pods = _named(Node, things), _named(PodGroup, things), _named(Pod, things)
    queues = _named(Queue, things)
    asked = _asked_for(groups, pods)
    tree = QueueTree.of(_claims(queues, asked))
    leaves = frozenset(tree.leaves)

    budget = _NOTHING
    used: dict[str, Resources] = defaultdict(Resources)
    for node in nodes.values():
        if node.is_ready and not node.spec.unschedulable:
            budget = budget.plus(node.status.allocatable)
    for pod in pods.values():
        place = nodes.get(pod.spec.node_name)
        if place is None or not place.is_ready or pod.is_finished:
            continue
        group = groups.get(group_key(pod))
        leaf = group.spec.queue if group and group.spec.queue in leaves else None
        if leaf:
            used[leaf] = used[leaf].plus(pod.request)
        if leaf is None and not place.spec.unschedulable:
            budget = budget.minus(pod.request)
        if leaf is not None and place.spec.unschedulable:
            budget = budget.plus(pod.request)
    return share_out(tree, budget, used)


def group_key(pod: Pod) -> str:
    """The key of the pod group that a pod names; it names none where the key ends in a slash."""
    return f"{pod.metadata.namespace or DEFAULT}/{pod.metadata.annotations.get(GROUP_ANNOTATION, '')}"


def _asked_for(groups: Mapping[str, PodGroup], pods: Mapping[str, Pod]) -> Mapping[str, Resources]:
    """What is asked of every queue: per unfinished group the larger of `minResources` and its live pods."""
    live: dict[str, Resources] = defaultdict(Resources)
    for pod in pods.values():
        if not pod.is_finished and not pod.is_terminating:
            key = group_key(pod)
            live[key] = live[key].plus(pod.request)
    asked: dict[str, Resources] = defaultdict(Resources)
    for key, group in groups.items():
        if group.status.phase != "Completed":
            wanted = live[key].larger(group.spec.min_resources or _NOTHING)
            asked[group.spec.queue] = asked[group.spec.queue].plus(wanted)
    return asked


def _claims(queues: Mapping[str, Queue], asked: Mapping[str, Resources]) -> Iterable[Claim]:
    for name in {ROOT: None, DEFAULT: None, **queues}:
        queue = queues.get(name) or Queue()
        created = queue.metadata.creation_timestamp
        declared = queue.spec.request
        yield Claim(
            name=name,
            parent=queue.parent,
            weight=queue.spec.weight,
            guarantee=queue.spec.guarantee.resource,
            percentage=queue.spec.guarantee.percentage,
            capability=queue.spec.capability,
            request=asked.get(name, _NOTHING) if declared is None else declared,
            created=created.timestamp() if created else 0.0,
        )


def _named(kind: type[ObjectT], objects: Iterable[Object]) -> dict[str, ObjectT]:
    return {one.key: one for one in objects if isinstance(one, kind)}
