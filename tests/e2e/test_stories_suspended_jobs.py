"""Jobs of batch/v1 that lose their nodes, on a real cluster whose own controller counts their failures."""

import json
from collections.abc import Iterator
from itertools import count

import pytest
import yaml

from maar.apps.manifests import installation
from support.needs_kubernetes import needs_kubernetes
from support.story import NODES, Document, Story, cluster, on_both_nodes, queue
from support.story_workloads import UNTIL_ENDED, end_pod, job

QUEUE = "scheduling.volcano.sh/queue-name"
LEAST = "scheduling.volcano.sh/group-min-member"
FOR = "maar.sh/suspended-for"
CONTROLLERS = "system:serviceaccount:maar-system:maar-controllers"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("suspended"), UNTIL_ENDED) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.kubectl("uncordon", *NODES)
    running.kubectl("delete", "jobs.batch", "--all", "--cascade=foreground")
    running.clear()


def gang(name: str, queue: str, pods: int, least: int | None = None) -> Document:
    made = job(name, parallelism=pods, completions=pods)
    notes = {QUEUE: queue, LEAST: str(pods if least is None else least)}
    made["spec"]["template"]["metadata"]["labels"]["group"] = name
    made["metadata"]["annotations"] = notes
    return made


def status(story: Story, name: str) -> Document:
    return dict(story.get("jobs.batch", name).get("status", {}))


def is_suspended(story: Story, name: str) -> bool:
    return bool(story.get("jobs.batch", name)["spec"].get("suspend"))


def conditions(story: Story, name: str) -> set[str]:
    return {one["type"] for one in status(story, name).get("conditions", ()) if one["status"] == "True"}


def assert_recorded(story: Story, name: str, reason: str) -> None:
    story.until_holds(
        "an event says so",
        lambda: {one for one, _ in story.events("Job", name)},
        lambda reasons: reason in reasons,
    )


def test_a_reclaim_of_a_gang_of_eight_ends_no_job(story: Story) -> None:
    story.apply(queue("a"), queue("b"), gang("large", "b", 8))
    story.until("it has the cluster", lambda: story.running("large"), {"large": 8})
    uid = story.get("jobs.batch", "large")["metadata"]["uid"]
    story.apply(gang("small", "a", 4))
    story.until("the other has its share", lambda: story.running("small"), {"small": 4})
    story.until("the victim is suspended", lambda: is_suspended(story, "large"), expected=True)
    story.until("its pods are gone", lambda: story.running("large"), {"large": 0})
    story.until("and its controller says so", lambda: conditions(story, "large"), {"Suspended"})
    group = story.get("podgroup", f"podgroup-{uid}")
    assert group["metadata"]["name"] == f"podgroup-{uid}"
    about = f"podgroup-{story.get('jobs.batch', 'small')['metadata']['uid']}"
    assert story.get("jobs.batch", "large")["metadata"]["annotations"][FOR] == f"default/{about}"
    story.until_holds(
        "its group says what it waits for",
        lambda: story.reason(f"podgroup-{uid}")[1],
        lambda message: message.startswith(f"its pods were evicted for default/{about}, and Maar has"),
    )
    assert_recorded(story, "large", "SuspendedByMaar")
    story.kubectl("delete", "jobs.batch", "small", "--cascade=foreground")
    story.until("it runs again", lambda: story.running("large"), {"large": 8})
    found = story.get("jobs.batch", "large")
    assert not found["spec"].get("suspend")
    assert FOR not in found["metadata"]["annotations"]
    assert found["status"].get("failed", 0) == 0
    assert "Failed" not in conditions(story, "large")
    assert story.get("podgroup", f"podgroup-{uid}")["metadata"]["uid"] == group["metadata"]["uid"]
    assert_recorded(story, "large", "ResumedByMaar")


def test_a_job_of_single_pods_goes_as_a_whole_and_comes_back_with_what_is_left(story: Story) -> None:
    story.apply(queue("a"), queue("b"), gang("many", "b", 8, least=1))
    story.until("it has the cluster", lambda: story.running("many"), {"many": 8})
    story.apply(gang("small", "a", 4))
    story.until("the other has its share", lambda: story.running("small"), {"small": 4})
    story.until("the rest is its again", lambda: story.running("many"), {"many": 4})
    assert status(story, "many").get("failed", 0) == 0
    assert not is_suspended(story, "many")


@pytest.mark.parametrize("second", ["a", "b"], ids=["in one queue", "in two queues"])
def test_gangs_that_a_drained_node_leaves_halved_do_not_wait_for_each_other(
    story: Story, second: str
) -> None:
    names = ("first", "second")
    story.apply(queue("a"), queue("b"), *on_both_nodes("until", "a"))
    story.until("half of each node is taken", lambda: story.running("until"), {"until": 4})
    story.apply(gang("first", "a", 4))
    story.until("one has the other half", lambda: story.running("first"), {"first": 4})
    story.kubectl("delete", "pods", *story.nodes_of("until"))
    story.apply(gang("second", second, 4))
    story.until("both run", lambda: story.running(*names), dict.fromkeys(names, 4))
    there = {name: story.nodes_of(name) for name in names}
    lost = {name: [pod for pod, node in pods.items() if node == NODES[1]] for name, pods in there.items()}
    assert [len(pods) for pods in lost.values()] == [2, 2]
    story.kubectl("cordon", NODES[1])
    story.kubectl("delete", "pods", *lost["first"], *lost["second"])
    story.until_holds(
        "one of them has the node that is left",
        lambda: sorted(story.running(*names).values()),
        lambda counts: counts == [0, 4],
    )
    gone = next(name for name, count in story.running(*names).items() if not count)
    story.until("the other is suspended", lambda: is_suspended(story, gone), expected=True)
    story.kubectl("uncordon", NODES[1])
    story.until("both run again", lambda: story.running(*names), dict.fromkeys(names, 4))
    assert [status(story, name).get("failed", 0) for name in names] == [2, 2], "those that were deleted"
    assert not any("Failed" in conditions(story, name) for name in names)


def test_a_gang_that_pods_have_ended_of_comes_back_though_they_were_deleted_meanwhile(story: Story) -> None:
    story.apply(queue("a"), queue("b"), gang("large", "b", 8))
    story.until("it has the cluster", lambda: story.running("large"), {"large": 8})
    done = sorted(story.nodes_of("large"))[:3]
    for pod in done:
        end_pod(story, pod, "Succeeded")
    story.until("three have succeeded", lambda: status(story, "large").get("succeeded", 0), 3)
    story.apply(gang("small", "a", 4))
    story.until("it is suspended", lambda: is_suspended(story, "large"), expected=True)
    story.kubectl("delete", "pods", *done)  # as the collector of ended pods does
    story.kubectl("delete", "jobs.batch", "small", "--cascade=foreground")
    story.until("the rest runs", lambda: story.running("large"), {"large": 5})
    assert status(story, "large").get("failed", 0) == 0


def test_who_removes_the_annotation_keeps_the_job_suspended(story: Story) -> None:
    story.apply(queue("a"), queue("b"), gang("large", "b", 8))
    story.until("it has the cluster", lambda: story.running("large"), {"large": 8})
    uid = story.get("jobs.batch", "large")["metadata"]["uid"]
    story.apply(gang("small", "a", 4))
    story.until("it is suspended", lambda: is_suspended(story, "large"), expected=True)
    story.kubectl("annotate", "jobs.batch/large", f"{FOR}-")
    story.until("its group has gone", lambda: bool(story.get("podgroup", f"podgroup-{uid}")), expected=False)
    story.kubectl("delete", "jobs.batch", "small", "--cascade=foreground")
    story.apply(gang("next", "a", 8))
    story.until("another has the cluster", lambda: story.running("next"), {"next": 8})
    assert is_suspended(story, "large")


def test_a_program_that_starts_anew_goes_on_where_the_other_was(story: Story) -> None:
    story.apply(queue("a"), queue("b"), gang("large", "b", 8))
    story.until("it has the cluster", lambda: story.running("large"), {"large": 8})
    story.apply(gang("small", "a", 4))
    story.until("it is suspended", lambda: is_suspended(story, "large"), expected=True)
    story.restart("scheduler")
    story.restart("controllers")
    story.until("the other has its share", lambda: story.running("small"), {"small": 4})
    story.kubectl("delete", "jobs.batch", "small", "--cascade=foreground")
    story.until("it runs again", lambda: story.running("large"), {"large": 8})
    assert status(story, "large").get("failed", 0) == 0


def test_the_controllers_account_may_suspend_a_job_and_change_nothing_else(story: Story) -> None:
    policy = [
        one
        for one in yaml.safe_load_all(installation("maar"))
        if one
        and (one["kind"].startswith("ValidatingAdmissionPolicy") or one["kind"].startswith("ClusterRole"))
    ]
    story.apply(*policy)
    story.apply(job("theirs", parallelism=0))
    # kubectl reads an object before it changes it, which the account may not.
    story.kubectl("create", "clusterrole", "reads-jobs", "--verb=get", "--resource=jobs.batch")
    story.kubectl(
        "create", "clusterrolebinding", "reads-jobs", "--clusterrole=reads-jobs", f"--user={CONTROLLERS}"
    )

    def change(patch: Document) -> str:
        patched = ("patch", "jobs.batch", "theirs", "--type=merge", "-p", json.dumps(patch))
        return str(story.kubectl(*patched, "--as", CONTROLLERS, check=False).stderr)

    denied, sizes = "denied request: the controllers of Maar may", count(1)

    def enlarge() -> str:  # by another size each time: what changes nothing is not refused
        return change({"spec": {"parallelism": next(sizes)}})

    story.until_holds("the policy is in force", enlarge, lambda found: denied in found)
    refused: list[Document] = [
        {"spec": {"parallelism": next(sizes)}},
        {"spec": {"suspend": True, "backoffLimit": 1}},
        {"spec": {"activeDeadlineSeconds": 5}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"annotations": {"a": "b", FOR: "x"}}},
        {"metadata": {"finalizers": ["a.io/b"]}},
    ]
    assert [denied in change(one) for one in refused] == [True] * len(refused)
    assert change({"spec": {"suspend": True}, "metadata": {"annotations": {FOR: "ns/g"}}}) == ""
    assert change({"spec": {"suspend": False}, "metadata": {"annotations": {FOR: None}}}) == ""
