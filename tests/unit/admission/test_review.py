"""What surrounds the rules: patches, deletions of many, and answers to what is not asked about."""

from copy import deepcopy

import pytest

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.reading import read
from maar.core.admission.request import CREATE, DELETE, UPDATE, Json, Request, Verdict
from maar.core.admission.review import mutate, mutated, review, validate
from maar.core.model.events import Deleted, Upserted
from maar.core.model.kinds import to_json
from maar.core.model.queue import DEFAULT, ROOT, Queue

TASK = {
    "replicas": 2,
    "template": {"spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}},
}


def applied(document: Json, patch: tuple[Json, ...]) -> Json:
    """What an API server makes of a patch: the slow way to what we hand out as the mutated object."""
    result = deepcopy(document)
    for operation in patch:
        assert operation["op"] == "add"
        *way, last = str(operation["path"]).split("/")[1:]
        here: object = result
        for key in way:
            here = here[int(key)] if isinstance(here, list) else here[key]  # type: ignore[index]  # a path that leads nowhere is what the test is for
        assert isinstance(here, dict)
        here[last] = deepcopy(operation["value"])
    return result


@pytest.mark.parametrize(
    ("resource", "document"),
    [
        ("queues", {"metadata": {"name": "a"}}),
        ("queues", {"metadata": {"name": "a"}, "spec": None}),
        ("queues", {"metadata": {"name": "a"}, "spec": {"weight": 2, "state": ""}}),
        ("podgroups", {"metadata": {"name": "g"}}),
        ("jobs", {"metadata": {"name": "j"}, "spec": {"tasks": [TASK, {**TASK, "name": "t"}]}}),
    ],
)
def test_the_patch_makes_the_mutated_object(resource: str, document: Json) -> None:
    request, before = Request(operation=CREATE, resource=resource, new=document), deepcopy(document)
    patch = mutate(request, KnownCluster())
    assert patch
    assert applied(document, patch) == mutated(request, KnownCluster())
    assert document == before
    assert to_json(list(patch))


def test_what_is_complete_gets_no_patch() -> None:
    first = mutated(Request(operation=CREATE, resource="queues", new={"spec": {}}), KnownCluster())
    assert mutate(Request(operation=CREATE, resource="queues", new=first), KnownCluster()) == ()


def test_more_tasks_than_are_allowed_are_refused_and_not_filled_in() -> None:
    request = Request(operation=CREATE, resource="jobs", new={"spec": {"tasks": [{}] * 1_000}})
    verdict = review(request, KnownCluster())
    assert len(verdict.patch) < 10
    assert [one.rule for one in verdict.refusals] == ["job-size"]


@pytest.mark.parametrize("resource", ["queues", "podgroups", "jobs", "pods", "commands"])
def test_what_nobody_should_have_to_look_at_is_refused_at_once(resource: str) -> None:
    huge = [[{"name": "c"}] * 1_000] * 1_000
    spec = {"schedulerName": "volcano", "tasks": [{"template": {"spec": {"containers": huge}}}], "more": huge}
    refusals = review(
        Request(operation=CREATE, resource=resource, new={"spec": spec}), KnownCluster()
    ).refusals
    assert [one.sentence.split(";")[0] for one in refusals] == [
        "cannot be read: it has more than 100000 values"
    ]


def test_a_verdict_reads_line_by_line() -> None:
    spec = {"weight": 0, "state": "Closing"}
    verdict = review(Request(operation=CREATE, resource="queues", new={"spec": spec}), KnownCluster())
    assert not verdict.allowed
    first, second = verdict.message.split("\n")
    assert first.startswith('[queue-state] spec.state is "Closing"')
    assert second.startswith("[queue-weight] spec.weight is 0")


def test_nobody_hears_more_than_twenty_refusals() -> None:
    spec = {"capability": {f"r{number}": -1 for number in range(60)}}
    verdict = review(Request(operation=CREATE, resource="queues", new={"spec": spec}), KnownCluster())
    assert len(verdict.refusals) == 20


def test_a_deletion_of_many_names_each_only_in_the_object() -> None:
    known = KnownCluster()
    known.feed([Upserted(object=read(Queue, {"metadata": {"name": "a"}}))])
    stored = {"metadata": {"name": "a"}, "status": {"state": "Open"}}
    refusals = review(Request(operation=DELETE, resource="queues", old=stored), known).refusals
    assert [one.rule for one in refusals] == ["queue-delete-state"]
    assert review(Request(operation=DELETE, resource="queues"), known).allowed


@pytest.mark.parametrize(
    "request_",
    [
        Request(operation=CREATE, resource="nodes", new={"spec": {"weight": 0}}),
        Request(operation="CONNECT", resource="pods", subresource="exec", new={"kind": "PodExecOptions"}),
        Request(
            operation=UPDATE, resource="queues", subresource="status", old={}, new={"spec": {"weight": 0}}
        ),
        Request(
            operation=UPDATE, resource="queues", old={"spec": {"weight": 0}}, new={"spec": {"weight": 0}}
        ),
    ],
    ids=lambda one: f"{one.operation} {one.resource}",
)
def test_what_is_not_asked_about_is_allowed(request_: Request) -> None:
    assert validate(request_, KnownCluster()) == Verdict()


def test_root_and_default_are_there_from_the_beginning_and_stay() -> None:
    known = KnownCluster()
    for name in (ROOT, DEFAULT):
        known.feed([Deleted(kind="Queue", key=name)])
        assert known.queue(name) is not None
    assert list(known.children(ROOT)) == [DEFAULT]


def test_of_many_leaves_the_nearest_are_named() -> None:
    known = KnownCluster()
    for number in range(9):
        spec = {"parent": "team" if number % 2 else "root"}
        known.feed([Upserted(object=read(Queue, {"metadata": {"name": f"q{number}"}, "spec": spec}))])
    known.feed([Upserted(object=read(Queue, {"metadata": {"name": "team"}}))])
    assert known.leaves(ROOT, most=7) == ["default", "q0", "q2", "q4", "q6", "q8", "q1"]
