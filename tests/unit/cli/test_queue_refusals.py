"""What servers answer, and the sentence that a user of the queue commands reads."""

import pytest

from maar.cli.cluster_refusal import Errand, refusal, refusal_of_list
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.errors import ApiError, Cause, Details, UnansweredError
from maar.kube.outcome import Conflict, Gone, Outcome, Protected, Refused, Unanswered

WEIGHT = Cause(
    "FieldValueInvalid",
    "Invalid value: 0: spec.weight in body should be greater than or equal to 1",
    "spec.weight",
)
RULE = Cause(
    "FieldValueInvalid",
    "Invalid value: [queue-quantity] spec.request must be quantities >= 0; write 500m",
    "spec.request",
)


@pytest.mark.parametrize(
    ("verb", "outcome", "sentences"),
    [
        (
            "get",
            Gone('queues.scheduling.volcano.sh "q" not found'),
            ("queue q does not exist; maar queue list shows those that do",),
        ),
        (
            "get",
            Gone("the server could not find the requested resource"),
            (
                "Maar is not installed on this cluster: its API server does not serve queues of "
                "scheduling.volcano.sh/v1beta1; run maar manifests | kubectl apply -f -",
            ),
        ),
        (
            "create",
            Conflict('queues.scheduling.volcano.sh "q" already exists'),
            ("queue q exists already; change it with maar queue update q, or choose another name",),
        ),
        (
            "change",
            Conflict("the object has been modified"),
            ("queue q has just been changed by somebody else; see maar queue get q, and try again",),
        ),
        (
            "delete",
            Refused(403, "Forbidden", 'queues.scheduling.volcano.sh "q" is forbidden: User "ann" cannot delete resource "queues" in API group "scheduling.volcano.sh" at the cluster scope'),
            ("ann may not delete queues on this cluster; ask its administrator for that right, or choose another --context",),
        ),
        (
            "delete",
            Refused(403, "Forbidden", 'admission webhook "validatequeue.volcano.sh" denied the request: [queue-delete-state] status.state is "Open"; close it first'),
            ('[queue-delete-state] status.state is "Open"; close it first',),
        ),
        (
            "create",
            Refused(422, "Invalid", "Queue is invalid", (WEIGHT, RULE)),
            (
                f"queue q: spec.weight: {WEIGHT.message}; correct it and try again",
                f"queue q: spec.request: {RULE.message}",
            ),
        ),
        (
            "get",
            Refused(401, "Unauthorized", "Unauthorized"),
            ("the cluster does not know who you are (Unauthorized); log in again, or choose another --context",),
        ),
        ("get", Unanswered("the server is gone; check that it runs"), ("the server is gone; check that it runs",)),
        ("delete", Protected("not now"), ("not now",)),
    ],
)  # fmt: skip
def test_an_answer_becomes_a_sentence(verb: str, outcome: Outcome, sentences: tuple[str, ...]) -> None:
    assert refusal(outcome, Errand(verb, Queue, "q")).sentences == sentences


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            ApiError(400, "BadRequest", "unable to parse requirement", Details()),
            "pod groups cannot be listed: unable to parse requirement; write -l team=a,tier!=dev",
        ),
        (
            ApiError(404, "NotFound", "404 page not found", Details()),
            "Maar is not installed on this cluster: its API server does not serve podgroups of "
            "scheduling.volcano.sh/v1beta1; run maar manifests | kubectl apply -f -",
        ),
        (
            ApiError(403, "Forbidden", 'podgroups is forbidden: User "ann" cannot list resource "podgroups"', Details()),
            "ann may not list podgroups on this cluster; ask its administrator for that right, or choose "
            "another --context",
        ),
        (UnansweredError("nobody is there; start it", may_be_done=False), "nobody is there; start it"),
    ],
)  # fmt: skip
def test_a_list_that_is_refused_becomes_a_sentence(error: ApiError | UnansweredError, sentence: str) -> None:
    assert refusal_of_list(error, PodGroup).sentences == (sentence,)


def test_a_namespace_that_is_missing_is_named() -> None:
    outcome = Gone('namespaces "far" not found')
    assert refusal(outcome, Errand("create", PodGroup, "far/g")).sentences == (
        'pod group far/g: namespaces "far" not found; create the namespace first',
    )
