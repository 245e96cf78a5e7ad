"""Evictions: what a disruption budget allows, and what happens to the pod."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Call
from maar.embedded.failures import ApiError
from maar.embedded.kinds.budgets import PLURAL
from maar.embedded.kinds.pods import evict
from support.embedded import Document, EmbeddedCluster, opened

WEB = {"app": "web"}
REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget."


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """Three running pods of one application."""
    with opened(tmp_path) as made:
        for name in ("a", "b", "c"):
            made.pod(name, meta={"labels": WEB}, nodeName="n1", terminationGracePeriodSeconds=30)
            made.run(name)
        yield made


def budget(embedded: EmbeddedCluster, name: str = "web", **spec: object) -> None:
    embedded.make(PLURAL, name, spec={"selector": {"matchLabels": WEB}, **spec})
    embedded.settle()


def status(embedded: EmbeddedCluster) -> Document:
    return dict(embedded.get(PLURAL, "web")["status"])


def ask(
    embedded: EmbeddedCluster, name: str, options: Document | None = None, *, dry_run: bool = False
) -> Document:
    body: Document = {"metadata": {"name": name}, **({"deleteOptions": options} if options else {})}
    return evict(embedded.cluster, "default", name, body, Call(dry_run=dry_run))


def refused(embedded: EmbeddedCluster, name: str, options: Document | None = None) -> ApiError:
    before = embedded.store.revision
    with pytest.raises(ApiError) as raised:
        ask(embedded, name, options)
    assert embedded.store.revision == before
    return raised.value


def test_without_a_budget_a_pod_is_told_why_it_goes_and_goes(embedded: EmbeddedCluster) -> None:
    assert ask(embedded, "a", {"gracePeriodSeconds": 5})["status"] == "Success"
    pod = embedded.get("pods", "a")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 5
    assert pod["status"]["conditions"][-1] == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": embedded.cluster.now(),
    }


def test_a_budget_allows_so_many_and_no_more(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=2)
    assert status(embedded)["disruptionsAllowed"] == 1
    ask(embedded, "a")
    after = status(embedded)
    assert after["disruptionsAllowed"] == 0
    assert after["disruptedPods"] == {"a": embedded.cluster.now()}
    assert (after["conditions"][0]["status"], after["conditions"][0]["reason"]) == (
        "False",
        "InsufficientPods",
    )
    error = refused(embedded, "b")
    assert (error.code, error.reason, error.message) == (429, "TooManyRequests", REFUSAL)


def test_a_refusal_says_what_the_budget_needs(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=3)
    assert refused(embedded, "a").details == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget web needs 3 healthy pods and has 3 currently",
            }
        ]
    }


def test_a_budget_nobody_has_counted_yet_allows_nothing(embedded: EmbeddedCluster) -> None:
    embedded.make(PLURAL, "web", spec={"selector": {"matchLabels": WEB}, "minAvailable": 0})
    error = refused(embedded, "a")
    assert error.code == 429
    assert error.details["retryAfterSeconds"] == 10
    assert error.details["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget web is still being processed by the server.",
        }
    ]


def test_two_budgets_for_one_pod_are_not_supported(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=1)
    budget(embedded, "second", maxUnavailable="50%")
    error = refused(embedded, "a")
    assert (error.code, error.message) == (
        500,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    )


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_disturb_nobody(embedded: EmbeddedCluster, phase: str) -> None:
    budget(embedded, minAvailable=3)
    embedded.edit("pods", "a", "status", status={"phase": phase})
    ask(embedded, "a")
    assert status(embedded)["disruptionsAllowed"] == 0


def test_a_pod_that_is_going_already_may_be_asked_to_go_again(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=3)
    embedded.cluster.delete("pods", "default", "a")
    ask(embedded, "a", {"gracePeriodSeconds": 0})
    assert embedded.names("pods") == ["b", "c"]


def test_a_pod_that_is_not_ready_goes_while_enough_others_are(embedded: EmbeddedCluster) -> None:
    embedded.run("a", ready=False)
    budget(embedded, minAvailable=2)
    ask(embedded, "a")
    assert status(embedded)["disruptionsAllowed"] == 0
    assert "disruptedPods" not in status(embedded)


def test_a_pod_that_is_not_ready_stays_while_too_few_others_are(embedded: EmbeddedCluster) -> None:
    embedded.run("a", ready=False)
    budget(embedded, minAvailable=3)
    assert refused(embedded, "a").code == 429


def test_a_budget_may_always_let_go_of_pods_that_are_not_ready(embedded: EmbeddedCluster) -> None:
    embedded.run("a", ready=False)
    budget(embedded, minAvailable=3, unhealthyPodEvictionPolicy="AlwaysAllow")
    ask(embedded, "a")


def test_only_the_pod_that_was_meant_is_evicted(embedded: EmbeddedCluster) -> None:
    budget(embedded, minAvailable=1)
    before = status(embedded)
    error = refused(embedded, "a", {"preconditions": {"uid": "another"}})
    uid = embedded.get("pods", "a")["metadata"]["uid"]
    assert (error.code, error.message) == (
        409,
        (
            'Operation cannot be fulfilled on Pod "a": the UID in the precondition (another) does not match'
            f" the UID in record ({uid}). The object might have been deleted and then recreated"
        ),
    )
    assert refused(embedded, "a", {"preconditions": {"resourceVersion": "1"}}).code == 409
    assert status(embedded) == before
    ask(embedded, "a", {"preconditions": {"uid": uid}})


@pytest.mark.parametrize("options", [{"dryRun": ["All"]}, {}])
def test_an_eviction_that_is_only_tried_changes_nothing(embedded: EmbeddedCluster, options: Document) -> None:
    budget(embedded, minAvailable=2)
    before = (embedded.get("pods", "a"), status(embedded))
    ask(embedded, "a", options, dry_run=not options)
    assert (embedded.get("pods", "a"), status(embedded)) == before
    embedded.edit(PLURAL, "web", spec={"minAvailable": 3})
    embedded.settle()
    with pytest.raises(ApiError, match="Cannot evict pod"):
        ask(embedded, "a", options, dry_run=not options)


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"gracePeriodSeconds": "5"}, "gracePeriodSeconds"), ({"propagationPolicy": "No"}, "propagationPolicy")],
)
def test_options_that_make_no_sense_are_refused(
    embedded: EmbeddedCluster, options: Document, problem: str
) -> None:
    error = refused(embedded, "a", options)
    assert error.code == 400
    assert problem in error.message


def test_the_path_and_the_eviction_name_one_pod_that_is_there(embedded: EmbeddedCluster) -> None:
    with pytest.raises(ApiError, match="name in URL does not match name in Eviction object"):
        evict(embedded.cluster, "default", "a", {"metadata": {"name": "b"}}, Call())
    assert refused(embedded, "nobody").code == 404
