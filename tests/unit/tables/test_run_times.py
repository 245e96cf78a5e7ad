"""Where the expected run time of a pod comes from, and when a running pod ends."""

from datetime import UTC, datetime, timedelta

import pytest

from maar.core.model.events import Event, Upserted
from maar.core.model.kinds import from_document
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.tables.run_times import RunTimes, stem
from maar.core.tables.tables import Tables

START = datetime(2026, 1, 1, tzinfo=UTC)


def pod(
    name: str,
    owner: str = "",
    task: str = "",
    ran_s: float | None = None,
    phase: str = "Succeeded",
    **spec: object,
) -> Event:
    notes, labels = spec.pop("annotations", {}), spec.pop("labels", {})
    assert isinstance(notes, dict)
    if task:
        notes = {**notes, "volcano.sh/task-spec": task}
    metadata = {"name": name, "namespace": "ns", "annotations": notes, "labels": labels}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Job", "name": owner, "uid": owner, "controller": True}]
    status: dict[str, object] = {"phase": "Running", "startTime": START.isoformat()}
    if ran_s is not None:
        ended = (START + timedelta(seconds=ran_s)).isoformat()
        status |= {"phase": phase, "containerStatuses": [{"state": {"terminated": {"finishedAt": ended}}}]}
    return Upserted(
        object=from_document(Pod, {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    )


def group(**annotations: str) -> Event:
    metadata = {"name": "g", "namespace": "ns", "annotations": annotations}
    return Upserted(object=from_document(PodGroup, {"kind": "PodGroup", "metadata": metadata}))


def expected(name: str, *events: Event) -> float | None:
    tables = Tables()
    tables.feed(events)
    tables.settle()
    return RunTimes(tables).expected(tables.pods[f"ns/{name}"])


IN_GROUP = {"scheduling.k8s.io/group-name": "g"}
STATED = {"maar.sh/expected-runtime": "1m"}
KUEUE = {"kueue.x-k8s.io/max-exec-time-seconds": "40"}
EARLIER = [pod(f"old-{number}", "j", ran_s=10.0 * number) for number in (1, 2, 6)]
GROUP = group(**{"maar.sh/expected-runtime": "50"})


def test_sources_come_in_their_order() -> None:
    def one(annotations: dict[str, str]) -> Event:
        return pod("p", "j", annotations=annotations, activeDeadlineSeconds=45, labels=KUEUE)

    assert expected("p", *EARLIER, GROUP, one({**IN_GROUP, **STATED})) == 60
    assert expected("p", *EARLIER, GROUP, one(IN_GROUP)) == 50
    assert expected("p", *EARLIER, group(), one(IN_GROUP)) == 45
    assert expected("p", *EARLIER, pod("p", "j", labels=KUEUE)) == 40
    assert expected("p", *EARLIER, pod("p", "j")) == 20
    assert expected("p", *EARLIER, pod("p")) is None


def test_an_expected_run_time_names_its_source() -> None:
    tables = Tables()
    stated = [pod("stated", annotations=STATED), GROUP, pod("of-its-group", annotations=IN_GROUP)]
    bounds = [pod("deadline", activeDeadlineSeconds=45), pod("kueue", labels=KUEUE)]
    tables.feed([*EARLIER, *stated, *bounds, pod("like-earlier", "j"), pod("unknown")])
    tables.settle()
    found = {name: RunTimes(tables).with_source(row) for name, row in tables.pods.items()}
    sources = {name: one.source for name, one in found.items() if one is not None and "old" not in name}
    assert sources == {
        "ns/stated": "stated",
        "ns/of-its-group": "stated",
        "ns/deadline": "deadline",
        "ns/kueue": "deadline",
        "ns/like-earlier": "median",
    }
    assert found["ns/unknown"] is None


@pytest.mark.parametrize("text", ["soon", "", "-1m", "1 hour"])
def test_what_cannot_be_read_counts_as_not_set(text: str) -> None:
    notes = {"maar.sh/expected-runtime": text}
    assert expected("p", pod("p", annotations=notes, activeDeadlineSeconds=45)) == 45
    assert expected("p", pod("p", labels={"kueue.x-k8s.io/max-exec-time-seconds": text})) is None


def test_two_earlier_pods_are_too_few_and_failed_ones_do_not_count() -> None:
    failed = pod("old-9", "j", ran_s=1.0, phase="Failed")
    assert expected("p", *EARLIER[:2], failed, pod("p", "j")) is None
    assert expected("p", *EARLIER, failed, pod("p", "j")) == 20


def test_earlier_jobs_of_the_same_stem_count_for_the_same_task() -> None:
    earlier = [
        pod(f"{job}-{task}", job, task, ran_s)
        for number in (1, 2, 3)
        for job in (f"train-2843952{number}",)
        for task, ran_s in (("worker", 100.0 * number), ("ps", 1.0))
    ]
    assert expected("p", *earlier, pod("p", "train-28439600", "worker")) == 200
    assert expected("p", *earlier, pod("p", "train-28439600", "ps")) == 1
    assert expected("p", *earlier, pod("p", "train-28439600", "other")) is None
    assert expected("p", *earlier, pod("p", "other-28439600", "worker")) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [("train-17", "train"), ("train-28439520-x7k2p", "train"), ("train", "train"), ("17", "17")],
)
def test_the_stem_of_a_name_has_no_numbers_at_its_end(name: str, found: str) -> None:
    assert stem(name) == found


def test_an_overdue_pod_has_no_known_end() -> None:
    tables = Tables()
    tables.feed([pod("p", annotations=STATED)])
    row, start = tables.pods["ns/p"], START.timestamp()
    assert RunTimes(tables).end(row, start + 59) == start + 60
    assert RunTimes(tables).end(row, start + 60) is None


def test_a_pod_that_has_not_started_is_starting_now() -> None:
    tables = Tables()
    tables.feed([pod("p", annotations=STATED)])
    row = tables.pods["ns/p"]
    row.started = None
    assert RunTimes(tables).end(row, 1000.0) == 1060.0
