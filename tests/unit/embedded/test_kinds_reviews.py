"""Access reviews: who am I, and what may I do?"""

import pytest

from maar.embedded.calls import Caller
from maar.embedded.failures import ApiError
from maar.embedded.resources import BUILT_IN, Resource
from maar.embedded.writing import review
from support.embedded import Document

ADMIN = Caller("admin", ("system:masters", "system:authenticated"))
WITHOUT_RIGHTS = Caller("nobody", ("system:authenticated",))
PODS: Document = {"verb": "get", "resource": "pods", "namespace": "default"}


def kind(name: str) -> Resource:
    return next(one for one in BUILT_IN if one.kind == name)


def ask(name: str, caller: Caller = ADMIN, **spec: object) -> Document:
    return review(kind(name), {"metadata": {}, "spec": spec}, caller)


def test_whoever_is_of_the_masters_may_do_everything() -> None:
    assert ask("SelfSubjectAccessReview", resourceAttributes=PODS) == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {"resourceAttributes": PODS},
        "status": {"allowed": True},
    }
    assert ask("SelfSubjectAccessReview", nonResourceAttributes={"path": "/", "verb": "get"})["status"][
        "allowed"
    ]


def test_others_may_do_nothing() -> None:
    assert ask("SelfSubjectAccessReview", WITHOUT_RIGHTS, resourceAttributes=PODS)["status"] == {
        "allowed": False
    }
    rules = ask("SelfSubjectRulesReview", WITHOUT_RIGHTS, namespace="default")["status"]
    assert rules == {"resourceRules": [], "nonResourceRules": [], "incomplete": False}


def test_all_that_may_be_done_can_be_listed() -> None:
    rules = ask("SelfSubjectRulesReview", namespace="default")["status"]
    assert rules["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert rules["nonResourceRules"] == [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    assert rules["incomplete"] is False


def test_one_can_ask_who_one_is() -> None:
    assert review(kind("SelfSubjectReview"), {}, ADMIN)["status"] == {
        "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
    }


@pytest.mark.parametrize(
    ("name", "spec", "code", "problem"),
    [
        ("SelfSubjectAccessReview", {}, 422, "exactly one of nonResourceAttributes or resourceAttributes"),
        (
            "SelfSubjectAccessReview",
            {"resourceAttributes": PODS, "nonResourceAttributes": {}},
            422,
            "cannot be specified in combination with resourceAttributes",
        ),
        ("SelfSubjectRulesReview", {}, 400, "no namespace on request"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    name: str, spec: Document, code: int, problem: str
) -> None:
    with pytest.raises(ApiError) as raised:
        ask(name, **spec)
    assert raised.value.code == code
    assert problem in raised.value.message
