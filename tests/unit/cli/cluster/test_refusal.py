"""What servers answer, and the sentence that a user of the queue commands reads."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from maar.cli.cluster.refusal import Operation, refusal, refusal_of_list
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.errors import ApiError, Cause, Details, UnansweredError
from maar.kube.outcome import Conflict, Gone, Outcome, Protected, Refused, Unanswered

CASES = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))


def outcome_of(case: dict[str, Any]) -> Outcome:
    if "gone" in case:
        return Gone(case["gone"])
    if "conflict" in case:
        return Conflict(case["conflict"])
    refused = case["refused"]
    causes = tuple(Cause(field=one["field"], message=one["message"]) for one in refused.get("causes", ()))
    return Refused(refused["code"], refused["reason"], refused["message"], causes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["read"][0][:60])
def test_an_answer_becomes_a_sentence_that_says_what_to_do(case: dict[str, Any]) -> None:
    if case["verb"] == "list":
        refused = case["refused"]
        error = ApiError(refused["code"], refused["reason"], refused["message"], Details())
        error_shown = refusal_of_list(error, Queue)
    else:
        error_shown = refusal(outcome_of(case), Operation(case["verb"], Queue, "q"))
    assert list(error_shown.sentences) == case["read"]


def test_a_server_that_does_not_answer_is_told_of_in_the_clients_words() -> None:
    operation = Operation("get", Queue, "q")
    assert refusal(Unanswered("it is gone; check that it runs"), operation).sentences == (
        "it is gone; check that it runs",
    )
    assert refusal(Protected("not now"), operation).sentences == ("not now",)
    error = UnansweredError("nobody is there; start it", may_be_done=False)
    assert refusal_of_list(error, Queue).sentences == ("nobody is there; start it",)


def test_a_namespace_that_is_missing_is_named() -> None:
    outcome = Gone('namespaces "far" not found')
    assert refusal(outcome, Operation("create", PodGroup, "far/g")).sentences == (
        'pod group far/g: namespaces "far" not found; create the namespace first',
    )
