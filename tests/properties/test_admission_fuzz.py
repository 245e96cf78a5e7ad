"""Whatever is sent to admission, there is an answer, soon, and it says which rule and which field."""

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import pytest

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.reading import read
from maar.core.admission.request import Finding, Options, Request, Verdict
from maar.core.admission.review import mutate, mutated, review, validate
from maar.core.admission.rules import all_rules
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError, to_json
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from properties.hostile_objects import GOOD, HostileObjects
from properties.how_many import cases
from support.cost import Cost, Measured, cost_of

HOW_MANY = int(os.environ.get("MAAR_FUZZ", cases(3000)))  # 100000 take a few minutes
MOST_FOR_ONE = 1_000  # times what the review of a good object costs
MOST_AT_THE_MEAN = 10
FRESH_AFTER = 200  # what was accepted makes the cluster stranger from request to request
LONGEST_SENTENCE = 1_500
RULES = all_rules()
TYPES: dict[str, type[Object]] = {"queues": Queue, "podgroups": PodGroup, "jobs": Job, "pods": Pod}
OPTIONS = (Options(), Options(guarantee_over_total="warn", child_capability="max", max_queue_depth=2))
TEAM, QUEUE_OF_VISION = {"team": "a"}, {"scheduling.volcano.sh/queue-name": "q2"}
READY = [{"type": "Ready", "status": "True"}]
SIZES = {"capability": {"cpu": 9}, "guarantee": {"resource": {"cpu": 2}}}
WORLD: list[tuple[type[Object], dict[str, object]]] = [
    (Node, {"status": {"allocatable": {"cpu": 8, "memory": "8Gi"}, "conditions": READY}}),
    (Namespace, {"metadata": {"name": "default", "labels": TEAM}}),
    (Namespace, {"metadata": {"name": "vision", "labels": TEAM, "annotations": QUEUE_OF_VISION}}),
    (Queue, {"metadata": {"name": "q1"}, "spec": SIZES}),
    (Queue, {"metadata": {"name": "q2"}, "spec": {"parent": "q1", "guarantee": {"percentage": {"cpu": 10}}}}),
    (Queue, {"metadata": {"name": "q3"}}),
    (Queue, {"metadata": {"name": "q4"}, "spec": {"parent": "q5"}}),
    (Queue, {"metadata": {"name": "q5"}, "spec": {"parent": "q4", "request": {"cpu": 1}}}),
    (Job, {"metadata": {"name": "j", "namespace": "default", "uid": "u"}, "spec": {"queue": "q3"}}),
]


@pytest.mark.usefixtures("others_frozen")
def test_whatever_is_sent_there_is_an_answer(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("seed", seed)
    hostile, known, counts = HostileObjects(seed), world(), Counter[str]()
    slowest = total = Cost()
    good = cost_of(lambda: [review(one, known) for one in good_requests()], 3) * (1 / len(GOOD))
    for number in range(HOW_MANY):
        request, options = hostile.request(), OPTIONS[number % len(OPTIONS)]
        if number % FRESH_AFTER == 0:
            known = world()
        with Measured() as measured:
            verdict = review(request, known, options)
        slowest, total = max(slowest, measured.cost), total + measured.cost
        assert slowest < MOST_FOR_ONE * good, request.resource
        check(request, known, options, verdict)
        counts["accepted" if verdict.allowed else "refused"] += 1
        counts.update({one.rule for one in verdict.refusals})
        if verdict.allowed:
            learn(known, mutated(request, known, options), request.resource, number)
    rules = len([name for name in counts if name in RULES])
    totals = f"{counts['refused']} refused by {rules} rules, {counts['accepted']} accepted"
    assert total < HOW_MANY * MOST_AT_THE_MEAN * good
    beside = f"the slowest took {slowest.times(good):.0f} times as long as a good one"
    record_property("counts", f"{HOW_MANY} requests, {totals}, {beside}")
    assert counts["accepted"] > HOW_MANY // 20
    assert counts["refused"] > HOW_MANY // 20


def test_the_good_objects_that_are_spoilt_are_good() -> None:
    for request in good_requests():
        assert review(request, world()).refusals == (), request.resource


def good_requests() -> list[Request]:
    user = Options().controllers_user
    return [
        Request(operation="CREATE", resource=resource, namespace="default", new=document, user=user)
        for resource, document in GOOD.items()
    ]


def check(request: Request, known: KnownCluster, options: Options, verdict: Verdict) -> None:
    """The answer can be sent, and every finding says which rule, where, and what."""
    for finding in (*verdict.refusals, *verdict.warnings):
        check_finding(finding)
    to_json(list(verdict.patch))
    assert mutate(request, known, options) == verdict.patch
    for finding in validate(request, known, options).refusals:
        check_finding(finding)


def check_finding(finding: Finding) -> None:
    sentence = str(finding)
    assert finding.rule in RULES, sentence
    assert finding.field, sentence
    assert len(sentence) < LONGEST_SENTENCE, sentence[:200]
    assert sentence.isprintable(), ascii(sentence)
    sentence.encode()


def learn(known: KnownCluster, document: object, resource: str, number: int) -> None:
    """Let the cluster have some of what was accepted, under few names, so that it becomes a strange one."""
    kind = TYPES.get(resource)
    if kind is None or not isinstance(document, dict):
        return
    with suppress(BadObjectError):
        named = {
            **document,
            "kind": kind.__name__,
            "metadata": {"name": f"q{number % 9}", "namespace": "default"},
        }
        known.feed([Upserted(object=cast("AnyObject", read(kind, named)))])


def world() -> KnownCluster:
    """A small cluster in which two queues are in a circle."""
    known = KnownCluster()
    for kind, document in WORLD:
        one = read(kind, document)
        known.feed([Upserted(object=cast("AnyObject", one))])
    return known
