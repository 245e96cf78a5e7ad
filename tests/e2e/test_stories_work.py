"""Stories of work, told with kubectl on a real cluster: gangs, priorities, volumes, budgets, closing."""

from collections.abc import Iterator

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import NODES, SIZE, Document, Story, cluster, group, pods_of, queue, work

SELECTED_NODE = "volume.kubernetes.io/selected-node"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("work")) as story:
        for name, value in (("low", 1), ("high", 1000)):
            story.kubectl("create", "priorityclass", name, f"--value={value}")
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.clear()


def pod_reason(story: Story, pod: str) -> str:
    """What a pod says of itself."""
    conditions = story.get("pod", pod)["status"].get("conditions", [])
    return "".join(one.get("reason", "") for one in conditions if one["type"] == "PodScheduled")


def test_a_gang_starts_whole_or_not_at_all(story: Story) -> None:
    story.apply(queue("q"), *work("gang", "q", 10, least=10))
    story.until("it says what is missing", lambda: story.reason("gang")[0], "NotEnoughResources")
    story.until("autoscalers hear of it", lambda: pod_reason(story, "gang-9"), "Unschedulable")
    assert story.running("gang") == {"gang": 0}
    story.apply(*work("small", "q", 2, least=2))
    story.until("others go on", lambda: story.running("gang", "small"), {"gang": 0, "small": 2})
    story.plane.make_nodes(["n3"], SIZE)
    story.until("there is room for all of it", lambda: story.running("gang"), {"gang": 10})
    story.until("it runs", lambda: story.phase("gang"), "Running")
    story.kubectl("delete", "podgroup,pods", "--all", "--grace-period=0", "--force")
    story.kubectl("delete", "node", "n3")


def test_higher_priority_takes_the_place_of_lower_in_its_queue(story: Story) -> None:
    story.apply(queue("q"), *work("humble", "q", 8, priority="low"))
    story.until("the queue is full", lambda: story.running("humble"), {"humble": 8})
    story.apply(*work("urgent", "q", 3, least=3, priority="high"))
    story.until("the urgent runs", lambda: story.running("humble", "urgent"), {"humble": 5, "urgent": 3})
    story.until(
        "events say why", lambda: story.evictions("humble"), {"evicted by preempt for default/urgent"}
    )
    story.until_holds(
        "and by which right",
        lambda: story.events("PodGroup", "humble"),
        lambda found: any("it has priority 1000, this one 1" in message for _, message in found),
    )


def test_a_crippled_gang_is_nobodys_gain(story: Story) -> None:
    story.apply(
        queue("q"), *work("whole", "q", 6, least=6, priority="low"), *work("loose", "q", 2, priority="low")
    )
    story.until("the queue is full", lambda: story.running("whole", "loose"), {"whole": 6, "loose": 2})
    story.apply(*work("urgent", "q", 1, priority="high"))
    story.until("surplus pays", lambda: story.running("whole", "loose", "urgent"),
                {"whole": 6, "loose": 1, "urgent": 1})  # fmt: skip


def test_a_gang_that_can_do_no_work_gives_back_what_it_holds(story: Story) -> None:
    story.apply(queue("a", reclaimable=False), queue("b"), *work("gang", "a", 6, least=6))
    story.until("it runs", lambda: story.running("gang"), {"gang": 6})
    story.apply(*work("other", "b", 8))
    story.until("the other has the rest", lambda: story.running("other"), {"other": 2})
    story.kubectl("delete", "pod", "gang-5")
    story.apply(pods_of("gang", 6, more={"nodeSelector": {"kubernetes.io/hostname": "broken"}})[5])
    story.until("the rest of the gang goes", lambda: story.running("gang", "other"), {"gang": 0, "other": 8})
    story.until("events say why", lambda: story.evictions("gang"), {"evicted by cleanup"})


def test_pods_that_request_nothing_fill_the_gaps(story: Story) -> None:
    story.apply(queue("capped", capability={"cpu": "1"}), *work("asks", "capped", 2))
    story.until("the queue is at its ceiling", lambda: story.reason("asks")[0], "QueueAtCapability")
    story.apply(*work("free", "capped", 3, least=3, cpu=0))
    story.until("they run all the same", lambda: story.running("asks", "free"), {"asks": 1, "free": 3})


def test_pod_groups_enter_while_there_is_room_for_them(story: Story) -> None:
    # Who is inside and has no pods yet takes its turn in the same order, in which equal queues go by name.
    story.apply(queue("q"), queue("r"), group("first", queue="q", minMember=6, minResources={"cpu": "6"}))
    story.until("it is let in, before it has pods", lambda: story.phase("first"), "Inqueue")
    story.apply(group("second", queue="r", minMember=6, minResources={"cpu": "6"}))
    story.until("the next waits outside", lambda: story.reason("second")[0], "ClusterOvercommitted")
    assert story.phase("second") == "Pending"
    story.apply(*pods_of("second", 6), *pods_of("first", 6))
    story.until("the first runs", lambda: story.running("first", "second"), {"first": 6, "second": 0})
    story.kubectl("delete", "podgroup/first", *(f"pod/first-{number}" for number in range(6)))
    story.until("its place is free", lambda: story.running("second"), {"second": 6})


def test_a_closing_queue_takes_nothing_new_finishes_what_it_has_and_is_deleted(story: Story) -> None:
    def refusal(*documents: Document) -> str:
        with pytest.raises(ChildProcessError) as refused:
            story.apply(*documents)
        return str(refused.value)

    story.apply(queue("old"), *work("last", "old", 1, least=2))
    story.until("it waits for its second pod", lambda: story.reason("last")[0], "NotEnoughTasks")
    assert "[queue-delete-state]" in story.kubectl("delete", "queue", "old", check=False).stderr
    story.kubectl("patch", "queue", "old", "--type=merge", "-p", '{"spec":{"state":"Closed"}}')
    story.until("it closes", lambda: story.state("old"), "Closing")
    assert '[podgroup-queue-open] spec.queue is "old"' in refusal(group("new", queue="old", minMember=1))
    story.apply(*pods_of("last", 2))
    story.until("what was let in runs", lambda: story.running("last"), {"last": 2})
    assert story.state("old") == "Closing"
    story.kubectl("delete", "podgroup/last", "pod/last-0", "pod/last-1")
    story.until("it is drained", lambda: story.state("old"), "Closed")
    story.kubectl("delete", "queue", "old")
    found = [reason for reason, _ in story.events("Queue", "old")]
    assert found.index("QueueOpen") < found.index("QueueClosing") < found.index("QueueClosed")


@pytest.fixture
def blocked(story: Story) -> Story:
    """A reservation that asks for two processors, and a borrower of whom a budget lets one go."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept", "namespace": "default"},
        "spec": {"minAvailable": 7, "selector": {"matchLabels": {"group": "kept"}}},
    }
    story.apply(queue("owner"), queue("borrower"), *work("kept", "borrower", 8), budget)
    story.until(
        "one may go",
        lambda: story.get("pdb", "kept").get("status", {}).get("disruptionsAllowed"),
        1,
    )
    story.apply(queue("owner", guarantee={"resource": {"cpu": "4"}}), *work("mine", "owner", 2, least=2))
    story.until_holds("it waits", lambda: story.reason("mine"), lambda reported: reported != ("", ""))
    return story


def test_a_disruption_budget_protects_victims(blocked: Story) -> None:
    assert blocked.running("kept", "mine") == {"kept": 8, "mine": 0}
    assert blocked.evictions("kept") == set()
    blocked.kubectl("delete", "pdb", "kept")
    blocked.until("it has its own", lambda: blocked.running("kept", "mine"), {"kept": 6, "mine": 2})


def test_who_is_blocked_by_a_disruption_budget_hears_of_it(blocked: Story) -> None:
    assert blocked.reason("mine")[0] == "GuaranteeBlocked"


def storage_class(provisioner: str) -> Document:
    """Storage that waits for its first consumer."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": provisioner.rpartition("/")[2]},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(name: str, storage: str) -> Document:
    """A claim on a volume."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def volume(name: str, storage: str, node: str, **spec: object) -> Document:
    """A volume that only one node has."""
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
            **spec,
        },
    }


def reader(name: str) -> list[Document]:
    """A pod that uses a claim of its own name, on the second node."""
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    more = {"volumes": [mounted], "nodeSelector": {"kubernetes.io/hostname": "n2"}}
    return work(name, "q", 1, more=more)


def selected_node(story: Story, name: str) -> str:
    """Where the provisioner of a claim is told to make its volume."""
    return str(story.get("pvc", name)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))


def test_a_provisioner_is_told_where_the_first_consumer_of_a_claim_will_run(story: Story) -> None:
    story.apply(
        queue("q"), storage_class("example.com/elsewhere"), claim("made", "elsewhere"), *reader("made")
    )
    story.until("the node is chosen", lambda: selected_node(story, "made"), "n2")
    assert story.running("made") == {"made": 0}
    assert story.reason("made")[0] == "ClaimNotBound"
    uid = story.get("pvc", "made")["metadata"]["uid"]
    found = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "made", "uid": uid}
    story.apply(volume("made", "elsewhere", "n2", claimRef=found))  # as a provisioner does
    story.until("it runs there", lambda: story.nodes_of("made"), {"made-0": "n2"})
    assert story.get("pvc", "made")["status"]["phase"] == "Bound"


def test_a_first_consumer_gets_the_volume_that_its_node_has(story: Story) -> None:
    story.apply(
        queue("q"), storage_class("kubernetes.io/no-provisioner"),
        *(volume(f"on-{node}", "no-provisioner", node) for node in NODES),
        claim("found", "no-provisioner"), *reader("found"),
    )  # fmt: skip
    story.until("it runs there", lambda: story.nodes_of("found"), {"found-0": "n2"})
    assert story.get("pvc", "found")["spec"]["volumeName"] == "on-n2"
