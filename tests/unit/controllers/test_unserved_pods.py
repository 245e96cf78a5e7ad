"""Pods of a scheduler that nobody runs are told so, once."""

from maar.core.controllers.unserved_pods import UnservedPods
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Metadata
from maar.core.model.pod import Named, Pod, PodSpec, PodStatus
from maar.core.model.writes import ControllerWrite, RecordEvent
from support.controller_runs import Controlled


def pod(scheduler: str, node: str = "", gates: tuple[Named, ...] = (), **status: object) -> Event:
    spec = PodSpec(scheduler_name=scheduler, node_name=node, scheduling_gates=gates)
    return Upserted(
        object=Pod(metadata=Metadata(name="p"), spec=spec, status=PodStatus(**status))  # type: ignore[arg-type]  # as given
    )


def writes_after(*batches: list[Event]) -> list[list[ControllerWrite]]:
    controller, found = Controlled(UnservedPods()), []
    for events in batches:
        controller.feed(events)
        found.append([*controller.reconcile()])
    return found


def test_a_pod_of_a_scheduler_that_nobody_runs_is_told_once_and_what_to_write() -> None:
    ((first,), second, (again,)) = writes_after(
        [pod("default-scheduler")],
        [pod("default-scheduler")],
        [Deleted(kind="Pod", key="default/p"), pod("default-scheduler")],
    )
    assert first == again
    assert isinstance(first, RecordEvent)
    assert (first.kind, first.key, first.reason, first.is_warning) == (
        "Pod",
        "default/p",
        "FailedScheduling",
        True,
    )
    assert first.message == (
        "no scheduler places this pod: its schedulerName is 'default-scheduler', and the only one that runs "
        "here is 'volcano'; write schedulerName: volcano in its spec, or in the template that it is made "
        "from, and create it again"
    )
    assert second == []


def test_pods_that_are_served_bound_gated_or_finished_are_told_nothing() -> None:
    gate = (Named(name="later"),)
    others = [
        pod("volcano"),
        pod(""),
        pod("other", node="n"),
        pod("other", gates=gate),
        pod("other", phase="Failed"),
    ]
    assert writes_after(*[[one] for one in others]) == [[]] * len(others)
    assert writes_after([pod("other"), pod("other", node="n")]) == [[]]
