"""What admission knows and adds up is what the definition gives, worked out slowly, whatever came before."""

from collections.abc import Mapping
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.reading import read
from maar.core.admission.request import CREATE, UPDATE, Json, Options, Request
from maar.core.admission.review import review
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import DEFAULT, ROOT, Queue
from properties.how_many import cases
from properties.slow_admission import PlainQueue, Tree, breaks_capabilities, breaks_guarantees, path

NAMES = ("a", "b", "c", "d", "e", "f")
RESOURCES = ("cpu", "memory")
amounts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 6), max_size=2)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Tree, Tree, str]:
    """A tree, the tree with one queue new or changed, and the name of that queue."""
    names = NAMES[: draw(st.integers(3, len(NAMES)))]
    before: Tree = {ROOT: draw(queues(ROOT))}
    for name in names:
        before[name] = draw(queues(draw(st.sampled_from(list(before)[-3:]))))  # deep rather than wide
    changed = draw(st.sampled_from((*names, "new")))
    old = before.get(changed, PlainQueue())
    parents = [one for one in before if changed not in path(before, one)]
    after = PlainQueue(
        draw(st.sampled_from((old.parent, *parents)))
        if changed in before
        else draw(st.sampled_from(parents)),
        draw(st.one_of(st.just(old.guarantee), amounts)),
        draw(st.one_of(st.just(old.capability), amounts)),
    )
    return before, {**before, changed: after}, changed


def queues(parent: str) -> st.SearchStrategy[PlainQueue]:
    return st.builds(PlainQueue, st.just(parent), amounts, amounts)


@settings(max_examples=cases(300))
@given(changes(), st.sampled_from(("sum", "max")))
def test_sums_are_refused_where_the_definition_says_so(
    change: tuple[Tree, Tree, str], mode: Literal["sum", "max"]
) -> None:
    before, after, name = change
    known = KnownCluster()
    known.feed([Upserted(object=read(Queue, manifest(one, queue))) for one, queue in before.items()])
    request = Request(
        operation=UPDATE if name in before else CREATE,
        resource="queues",
        old=manifest(name, before[name]) if name in before else None,
        new=manifest(name, after[name]),
    )
    verdict = review(request, known, Options(child_capability=mode, max_queue_depth=9))
    rules = {one.rule for one in verdict.refusals}
    assert ("queue-guarantee-parent" in rules) == any(
        breaks_guarantees(before, after, "guarantee", resource) for resource in RESOURCES
    )
    assert ("queue-guarantee-parent-capability" in rules) == any(
        breaks_guarantees(before, after, "capability", resource) for resource in RESOURCES
    )
    assert ("queue-capability-parent" in rules) == any(
        breaks_capabilities(before, after, mode, resource) for resource in RESOURCES
    )


def manifest(name: str, queue: PlainQueue) -> Json:
    spec: Json = {"capability": queue.capability, "guarantee": {"resource": queue.guarantee}, "weight": 1}
    return {"metadata": {"name": name}, "spec": {**spec, "parent": "" if name == ROOT else queue.parent}}


few = st.sampled_from(NAMES[:4])
nodes = st.builds(
    lambda name, cpu, ready, closed: read(
        Node,
        {
            "metadata": {"name": name},
            "spec": {"unschedulable": closed},
            "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": str(ready)}]},
        },
    ),
    few,
    st.integers(0, 9),
    st.sampled_from((True, True, False)),
    st.booleans(),
)
pods = st.builds(
    lambda name, node, cpu, scheduler, phase: read(
        Pod,
        {
            "metadata": {"name": name},
            "spec": {
                "nodeName": node,
                "schedulerName": scheduler,
                "containers": [{"resources": {"requests": {"cpu": cpu}}}],
            },
            "status": {"phase": phase},
        },
    ),
    few,
    st.one_of(few, st.just("")),
    st.integers(0, 3),
    st.sampled_from(("volcano", "default-scheduler")),
    st.sampled_from(("Pending", "Running", "Succeeded")),
)
any_queues = st.builds(
    lambda name, parent, cpu, percent, weight: read(
        Queue,
        {
            "metadata": {"name": name},
            "spec": {
                "parent": parent,
                "weight": weight,
                "capability": {"cpu": cpu},
                "guarantee": {"resource": {"cpu": cpu}, "percentage": {"cpu": percent}},
            },
        },
    ),
    st.one_of(few, st.just(DEFAULT)),
    st.one_of(few, st.just(ROOT)),
    st.integers(0, 5),
    st.integers(0, 50),
    st.integers(1, 2),
)
groups = st.builds(
    lambda name, queue, phase: read(
        PodGroup, {"metadata": {"name": name}, "spec": {"queue": queue}, "status": {"phase": phase}}
    ),
    few,
    few,
    st.sampled_from(("Pending", "Completed")),
)
things: st.SearchStrategy[AnyObject] = st.one_of(nodes, pods, any_queues, groups)
appeared = things.map(lambda one: Upserted(object=one))
vanished = things.map(lambda one: Deleted(kind=type(one).__name__, key=one.key))
looked = st.just(None)  # somebody asks, and sums are remembered
events = st.one_of(appeared, appeared, appeared, vanished, looked)


@settings(max_examples=cases(200))
@given(st.lists(events, min_size=20, max_size=60))
def test_what_is_known_depends_on_what_there_is_and_not_on_how_it_came(history: list[Event | None]) -> None:
    known, there = KnownCluster(), dict[tuple[str, str], AnyObject]()
    for event in history:
        if event is None:
            looks(known)
            continue
        known.feed([event])
        if isinstance(event, Upserted):
            there[type(event.object).__name__, event.object.key] = event.object
        else:
            there.pop((event.kind, event.key), None)
    anew = KnownCluster()
    anew.feed([Upserted(object=one) for one in there.values()])
    assert looks(known) == looks(anew)
    assert total(known) == defined_total(list(there.values()))


def looks(known: KnownCluster) -> dict[str, object]:
    """Everything that rules ask of a cluster."""
    names = (*NAMES[:4], ROOT, DEFAULT)
    reservations = known.reservations
    hang_on_root = [name for name in names if leads_to_root(known, name)]
    return {
        "children": {name: sorted(known.children(name)) for name in names},
        "work": {name: sorted(known.work(name)) for name in names},
        "groups": [known.has_group(f"default/{name}") for name in names],
        "below": {name: without_zeros(reservations.below(name)) for name in hang_on_root},
        "capped": {name: without_zeros(reservations.capped_below(name)) for name in names},
        "total": total(known),
    }


def without_zeros(amounts: Mapping[str, int]) -> dict[str, int]:
    return {resource: units for resource, units in amounts.items() if units}


def leads_to_root(known: KnownCluster, name: str) -> bool:
    queue = known.queue(name)
    if queue is None or name == ROOT:
        return queue is not None
    return any(one.metadata.name == ROOT for one in known.above(queue))


def total(known: KnownCluster) -> int | None:
    """The total of CPUs; None while there is no usable node."""
    amounts = known.total.amounts
    return None if amounts is None else amounts.get("cpu", 0)


def defined_total(there: list[AnyObject]) -> int | None:
    """What usable nodes have, less what others' pods hold there, plus what ours hold on closed nodes."""
    by_name = {one.key: one for one in there if isinstance(one, Node)}
    usable = [one for one in by_name.values() if one.is_ready and not one.spec.unschedulable]
    units = sum(one.status.allocatable.get("cpu", 0) for one in usable)
    for pod in there:
        node = by_name.get(pod.spec.node_name) if isinstance(pod, Pod) and not pod.is_finished else None
        if isinstance(pod, Pod) and node is not None and node.is_ready:
            is_ours = pod.spec.scheduler_name == "volcano"
            if is_ours == node.spec.unschedulable:
                units += pod.request["cpu"] * (1 if is_ours else -1)
    return units if usable else None
