"""Planned starts of waiting groups: when, how sure, and the sentences that say why."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from maar.apps.daemons.planned_starts import changes
from maar.core.answers.explain.ask import Explainer
from maar.core.answers.explain.subject import find_subject
from maar.core.answers.explain.text import future_lines
from maar.core.answers.future import Present, Start
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.starts.published import as_published
from maar.core.model.job import Job as VolcanoJob
from maar.core.model.kinds import from_document, to_json
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PlannedStartStatus, PodGroup
from maar.core.views.reduced_objects import reduced_jobs

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT = NOW.timestamp()
Json = dict[str, object]
SMALL: Json = {"requests": {"cpu": "1"}}


def node(cpu: str) -> Object:
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": {"cpu": cpu, "pods": "20"}, "conditions": ready}
    return from_document(Node, {"kind": "Node", "metadata": {"name": "n"}, "status": status})


def job(
    name: str, cpu: str, lasts: str = "", *, ran_s: int | None = None, spec: Json | None = None
) -> list[Object]:
    """A group of one pod that waits, or has run for some seconds."""
    notes = {"scheduling.k8s.io/group-name": name} | ({"maar.sh/expected-runtime": lasts} if lasts else {})
    created = NOW - timedelta(hours=1) + timedelta(seconds=len(name))
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    asked: Json = {"schedulerName": "volcano", "containers": containers, **(spec or {})}
    status: Json = {"phase": "Pending"}
    if ran_s is not None:
        asked["nodeName"] = "n"
        status = {"phase": "Running", "startTime": (NOW - timedelta(seconds=ran_s)).isoformat()}
    metadata = {"name": f"{name}-0", "namespace": "ns", "annotations": notes}
    pod = from_document(Pod, {"kind": "Pod", "metadata": metadata, "spec": asked, "status": status})
    header = {"name": name, "namespace": "ns", "creationTimestamp": created.isoformat()}
    group = {"kind": "PodGroup", "metadata": header, "spec": {"minMember": 1}}
    return [from_document(PodGroup, group), pod]


def start_of(name: str, *objects: list[Object]) -> Start:
    everything = (node("2"), *(one for some in objects for one in some))
    return planned_starts(Present(everything, now=AT))[f"ns/{name}"]


def after(start: Start) -> float | None:
    return None if start.time is None else start.time - AT


def test_a_start_at_once_is_exact_whatever_runs() -> None:
    start = start_of("wants", job("runs", "1", ran_s=5), job("wants", "1"))
    assert (after(start), *start[1:]) == (0, "exact", "", "")


def test_a_start_is_exact_where_all_ends_are_stated() -> None:
    start = start_of("wants", job("runs", "2", "60s", ran_s=20), job("wants", "1"))
    assert (after(start), start.certainty, start.because) == (40, "exact", "")
    assert start.waits_for.startswith("no node has room for cpu 1")


@pytest.mark.parametrize(
    ("spec", "lasts", "because"),
    [
        ({"activeDeadlineSeconds": 90}, "", "It depends on 1 pod that has only a deadline (ns/other-0)."),
        ({}, "", "It depends on 1 pod whose end is unknown (ns/other-0)."),
        ({}, "10s", "It depends on 1 pod that is overdue (ns/other-0)."),
    ],
)
def test_a_start_is_a_bound_where_an_end_is_not_stated(spec: Json, lasts: str, because: str) -> None:
    other = job("other", "1", lasts, ran_s=30, spec=spec)
    start = start_of("wants", job("runs", "1", "60s", ran_s=20), other, job("wants", "1"))
    assert (after(start), start.certainty, start.because) == (40, "bound", because)


def test_pods_of_the_system_run_for_ever_and_make_nothing_less_sure() -> None:
    system = job("system", "1", ran_s=30, spec={"priorityClassName": "system-node-critical"})
    start = start_of("wants", job("runs", "1", "60s", ran_s=20), system, job("wants", "1"))
    assert (after(start), start.certainty) == (40, "exact")


def test_a_start_is_unknown_because_of_named_pods() -> None:
    start = start_of(
        "wants", job("late", "1", "10s", ran_s=30), job("other", "1", ran_s=30), job("wants", "1")
    )
    assert (start.time, start.certainty) == (None, "unknown")
    assert start.because.startswith(
        "It waits for 2 pods whose ends are unknown, 1 of them overdue: ns/late-0, ns/other-0. "
    )


def test_what_is_too_large_never_starts() -> None:
    start = start_of("wants", job("runs", "2", "60s", ran_s=20), job("wants", "3"))
    assert (start.time, start.certainty) == (None, "unknown")
    assert start.because.startswith("It does not start when others end: ")


def test_equal_parts_stand_for_pods_that_do_not_exist_yet() -> None:
    owner = [{"kind": "Job", "name": "j", "uid": "j", "controller": True}]
    metadata = {"name": "made", "namespace": "ns", "ownerReferences": owner}
    spec = {"minMember": 2, "minResources": {"cpu": "2"}}
    group = from_document(PodGroup, {"kind": "PodGroup", "metadata": metadata, "spec": spec})
    start = start_of("made", job("runs", "1", "60s", ran_s=20), [group])
    assert (after(start), start.certainty) == (40, "bound")
    assert start.because == "Its pods do not exist yet: equal parts of its minResources stand for them."


def test_with_a_precision_starts_are_rounded_and_say_so() -> None:
    objects = (node("2"), *job("runs", "2", "1h", ran_s=20), *job("wants", "1"), *job("hopes-for", "1"))
    start = planned_starts(Present(objects, now=AT), precision=0.1)["ns/wants"]
    assert 3580 <= (after(start) or 0) <= 3580 * 1.1
    assert (start.certainty, start.because) == (
        "bound",
        "Times are rounded by up to 10% of the time until then.",
    )


def test_the_first_of_each_queue_or_those_that_are_named() -> None:
    objects = (node("2"), *(one for name in ("a", "bb", "ccc") for one in job(name, "2", "60s")))
    present = Present(objects, now=AT)
    assert {key: after(one) for key, one in planned_starts(present).items()} == {
        "ns/a": 0,
        "ns/bb": 60,
        "ns/ccc": 120,
    }
    assert list(planned_starts(present, first=2)) == ["ns/a", "ns/bb"]
    assert list(planned_starts(present, groups=["ns/ccc", "ns/nobody"])) == ["ns/ccc"]
    assert planned_starts(replace(present, objects=(node("2"),))) == {}


def test_only_what_has_moved_by_a_minute_and_a_tenth_is_written_again() -> None:
    def planned(minutes: float, certainty: str = "bound") -> PlannedStartStatus:
        known = None if certainty == "unknown" else NOW + timedelta(minutes=minutes)
        return msgspec.convert({"time": known, "certainty": certainty}, PlannedStartStatus)

    before = {"near": planned(5), "far": planned(100), "gone": planned(7), "lost": planned(1, "unknown")}
    same = {"near": planned(5.9), "far": planned(109), "gone": planned(7), "lost": planned(2, "unknown")}
    assert changes(before, same, NOW) == {}
    moved = {"near": planned(6.1), "far": planned(112), "lost": planned(3), "new": planned(1)}
    assert changes(before, moved, NOW) == {**moved, "gone": None}
    assert changes(before, {**same, "far": planned(100, "exact")}, NOW).keys() == {"far"}


def test_a_start_that_has_not_moved_is_shown_as_it_was_written() -> None:
    def shown(written_s: float, certainty: str = "exact") -> float | None:
        written = msgspec.convert(
            {"time": NOW + timedelta(seconds=written_s), "certainty": certainty}, PlannedStartStatus
        )
        starts = {"ns/a": Start(AT + 1000, "exact")}
        return after(as_published(starts, {"ns/a": written}, AT)["ns/a"])

    assert [shown(905), shown(1095), shown(895), shown(1105)] == [905, 1095, 1000, 1000]
    assert shown(905, "bound") == 1000
    soon = {"ns/a": Start(AT + 30, "exact"), "ns/b": Start(AT, "exact"), "ns/c": Start(None, "unknown")}
    passed = dict.fromkeys(soon, msgspec.convert({"time": NOW, "certainty": "exact"}, PlannedStartStatus))
    assert as_published(soon, passed, AT) == soon


def test_an_explanation_says_what_an_older_start_in_the_status_is() -> None:
    def start_line(written: Json) -> str:
        group, pod = job("wants", "1")
        assert isinstance(group, PodGroup)
        status = msgspec.structs.replace(
            group.status, planned_start=msgspec.convert(written, PlannedStartStatus)
        )
        objects = (node("2"), *job("runs", "2", "10m", ran_s=0), pod)
        present = Present((*objects, msgspec.structs.replace(group, status=status)), now=AT)
        subject = find_subject(present.objects, "podgroup", "ns/wants")
        assert subject is not None
        explainer = Explainer(present, subject)
        known = msgspec.structs.replace(explainer.explanation(), start=explainer.start())
        return " ".join("".join(span.text for span in line) for line in future_lines(known, 300)).strip()

    same = start_line({"time": NOW + timedelta(seconds=590), "certainty": "exact"})
    assert same == "Planned start: 2026-01-01T12:09:50Z, in 9m50s (exact)."
    moved = start_line({"time": NOW + timedelta(hours=1), "certainty": "exact"})
    assert moved == (
        "Planned start: 2026-01-01T12:10:00Z, in 10m (exact). The status of its pod group still says "
        "2026-01-01T13:00:00Z, from an earlier computation."
    )
    assert start_line({"certainty": "unknown"}).endswith("still says unknown, from an earlier computation.")


def test_jobs_in_a_snapshot_give_the_starts_that_the_jobs_give() -> None:
    template = {
        "metadata": {"annotations": {"maar.sh/expected-runtime": "5m", "secret.io/a": "b"}},
        "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "b"}], "resources": SMALL}]},
    }
    spec = {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 3, "template": template}]}
    one = from_document(VolcanoJob, {"metadata": {"name": "j", "namespace": "ns", "uid": "u"}, "spec": spec})
    broken = msgspec.Raw(b'{"spec": {"containers": "none"}}')
    bad = msgspec.structs.replace(
        one,
        metadata=msgspec.structs.replace(one.metadata, name="bad"),
        spec=msgspec.structs.replace(
            one.spec, tasks=(msgspec.structs.replace(one.spec.tasks[0], written=broken),)
        ),
    )
    owner = [{"kind": "Job", "name": "j", "uid": "u", "controller": True}]
    metadata = {"name": "j-u", "namespace": "ns", "ownerReferences": owner}
    waits = [
        from_document(
            PodGroup,
            {
                "metadata": {**metadata, "name": f"{name}-u"},
                "spec": {"minMember": 1, "minResources": {"cpu": "1"}},
            },
        )
        for name in ("j", "bad")
    ]
    objects = (node("2"), *job("last", "2", "1m"), *waits)
    reduced = list(reduced_jobs([one, bad]))
    assert [each.metadata.name for each in reduced] == ["j"]
    assert b"secret" not in to_json(reduced[0])
    assert b"value" not in to_json(reduced[0])
    from_jobs = planned_starts(Present((*objects, one, bad), now=AT))
    assert planned_starts(Present((*objects, *reduced), now=AT)) == from_jobs
    assert after(from_jobs["ns/last"]) is not None
    assert from_jobs["ns/bad-u"].because.startswith("Its pods do not exist yet")


def test_a_search_that_is_stopped_says_before_when_nobody_starts_that_it_has_not_found() -> None:
    objects = (
        node("2"),
        *job("runs", "1", "10m", ran_s=0),
        *job("stays", "1", "30m", ran_s=0),
        *job("early", "1", "1h"),
        *job("latest", "2", "1h"),
    )
    decisions = iter([True, True, True])
    starts = planned_starts(Present(objects, now=AT), is_wanted=lambda: next(decisions, False))
    assert after(starts["ns/early"]) == 600
    late = starts["ns/latest"]
    assert (late.time, late.certainty) == (None, "unknown")
    assert late.because.startswith("It does not start before 2026-01-01T12:")
