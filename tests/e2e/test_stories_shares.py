"""Stories of fair share, told with kubectl on a real cluster: weights, the tree, namespaces, reservations."""

import re
from collections.abc import Iterator

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import SIZE, Story, cluster, queue, replica_set, work


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("shares")) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.clear()


# An event has the numbers of the moment at which its reason began: with one node open, or with both.
AT_FAIR_SHARE = re.compile(
    r"queue light is at its fair share: cpu ([12]) of \1 deserved, 1 more wanted "
    r"\(weight 1 of 4 under root\), and nothing idle is left to lend, "
    r"0/2 nodes: .*\(at most 0 free of 4\); it gets more when heavy releases"
)


def test_queues_share_the_cluster_by_weight(story: Story) -> None:
    story.apply_together(
        queue("light"), queue("heavy", weight=3), *work("l", "light", 8), *work("h", "heavy", 8)
    )
    story.until("pods run by weight", lambda: story.running("l", "h"), {"l": 2, "h": 6})
    story.until("statuses say so", lambda: story.shares("deserved", "light", "heavy", "root"),
                {"light": 2, "heavy": 6, "root": 8})  # fmt: skip
    story.until("use is counted", lambda: story.shares("used", "light", "heavy"), {"light": 2, "heavy": 6})
    assert story.get("queue", "light")["status"]["share"] == "1.00"
    reported = (
        "queue light is at its fair share: cpu 2 of 2 deserved, 1 more wanted (weight 1 of 4 under root), "
        "and nothing idle is left to lend, 0/2 nodes: 2 lack cpu (at most 0 free of 4); it gets more when "
        "heavy releases"
    )
    story.until("the group says why it waits", lambda: story.reason("l"), ("QueueAtFairShare", reported))

    def says_so(events: list[tuple[str, str]]) -> bool:
        return any(AT_FAIR_SHARE.fullmatch(message) for _, message in events)

    story.until_holds("so does an event", lambda: story.events("PodGroup", "l"), says_so)


def test_what_a_queue_does_not_want_is_used_by_others_until_it_asks(story: Story) -> None:
    story.apply(queue("borrower"), queue("owner", weight=3), *work("b", "borrower", 8))
    story.until("the borrower has all", lambda: story.running("b"), {"b": 8})
    story.apply(*work("o", "owner", 6))
    story.until("the owner has its share", lambda: story.running("b", "o"), {"b": 2, "o": 6})
    story.until(
        "the pods' events say why",
        lambda: story.evictions("b"),
        {"evicted by reclaim for default/o of queue owner"},
    )
    events = story.events("PodGroup", "b")
    assert any("queue borrower uses cpu " in message for _, message in events), events
    story.until("nothing is on its way", lambda: story.shares("preempting", "owner"), {"owner": 0})


def test_victims_that_come_back_wait_their_turn(story: Story) -> None:
    story.apply(queue("borrower"), queue("owner", weight=3), replica_set("rs", "borrower", 8))
    story.until("the borrower has all", lambda: story.running("rs"), {"rs": 8})
    first = set(story.nodes_of("rs"))
    story.apply(*work("o", "owner", 6))
    story.until("the owner has its share", lambda: story.running("rs", "o"), {"rs": 2, "o": 6})

    def waiting() -> set[str]:
        """The reasons of those that have come back."""
        return {
            condition.get("reason", "")
            for pod in story.all("pods")
            if "nodeName" not in pod["spec"]
            for condition in pod["status"].get("conditions", [])
            if condition["type"] == "PodScheduled"
        }

    story.until("those who have come back are told why they wait", waiting, {"Unschedulable"})
    assert story.running("rs", "o") == {"rs": 2, "o": 6}
    assert set(story.nodes_of("rs")) < first


def test_a_reservation_is_kept_while_idle_and_used_at_once(story: Story) -> None:
    story.apply(queue("reserved", guarantee={"resource": {"cpu": "5"}}), queue("others"))
    story.until("it deserves what is reserved", lambda: story.shares("deserved", "reserved"), {"reserved": 5})
    story.apply(*work("greedy", "others", 8))
    story.until("others leave it alone", lambda: story.running("greedy"), {"greedy": 3})
    story.until("they hear whose it is", lambda: story.reason("greedy")[0], "ReservedForOthers")
    assert "reserved for reserved" in story.reason("greedy")[1]
    story.apply(*work("owner", "reserved", 5, least=5))
    story.until("it starts at once", lambda: story.running("greedy", "owner"), {"greedy": 3, "owner": 5})
    assert story.evictions("greedy") == set()


def test_a_new_reservation_evicts_nobody_until_its_queue_asks(story: Story) -> None:
    story.apply(queue("late"), queue("early", weight=9), *work("e", "early", 8))
    story.until("the cluster is full", lambda: story.running("e"), {"e": 8})
    story.kubectl(
        "patch", "queue", "late", "--type=merge", "-p", '{"spec":{"guarantee":{"resource":{"cpu":"4"}}}}'
    )
    story.until("it counts", lambda: story.shares("deserved", "late", "early"), {"late": 4, "early": 4})
    assert story.running("e") == {"e": 8}
    assert story.evictions("e") == set()
    story.apply(*work("own", "late", 4, least=4))
    story.until("it takes back its own", lambda: story.running("e", "own"), {"e": 4, "own": 4})
    story.until(
        "as a reclaim", lambda: story.evictions("e"), {"evicted by reclaim for default/own of queue late"}
    )


def test_a_percentage_follows_the_cluster(story: Story) -> None:
    story.apply(queue("half", guarantee={"percentage": {"cpu": "50"}}))
    story.until("half of eight", lambda: story.shares("deserved", "half"), {"half": 4})
    story.plane.make_nodes(["n3"], SIZE)
    story.until("half of twelve", lambda: story.shares("deserved", "half"), {"half": 6})
    story.kubectl("delete", "node", "n3")
    story.until("half of eight again", lambda: story.shares("deserved", "half"), {"half": 4})


def test_a_capability_is_a_ceiling_however_empty_the_cluster_is(story: Story) -> None:
    story.apply(queue("capped", capability={"cpu": "3"}), *work("c", "capped", 5))
    story.until("it stays below", lambda: story.running("c"), {"c": 3})
    story.until("and says so", lambda: story.reason("c")[0], "QueueAtCapability")
    message = story.reason("c")[1]
    assert "queue capped" in message
    assert "cpu 3" in message
    story.until_holds("in an event too", lambda: story.events("PodGroup", "c"),
                      lambda events: ("Unschedulable", message) in events)  # fmt: skip


def test_a_tree_shares_level_by_level(story: Story) -> None:
    story.apply_together(
        queue("science"), queue("physics", parent="science"), queue("biology", parent="science", weight=3),
        queue("sales"),
        *work("p", "physics", 8), *work("b", "biology", 8), *work("s", "sales", 8),
    )  # fmt: skip
    story.until("four each, and three of them to biology", lambda: story.running("p", "b", "s"),
                {"p": 1, "b": 3, "s": 4})  # fmt: skip
    story.until("the level above adds up", lambda: story.shares("used", "science"), {"science": 4})


def test_siblings_pay_before_cousins(story: Story) -> None:
    story.apply(
        queue("science"), queue("physics", parent="science"), queue("biology", parent="science"),
        queue("sales"), *work("s", "sales", 4), *work("p", "physics", 4),
    )  # fmt: skip
    story.until("it is full", lambda: story.running("s", "p"), {"s": 4, "p": 4})
    story.apply(*work("b", "biology", 2))
    story.until("physics makes room", lambda: story.running("s", "p", "b"), {"s": 4, "p": 2, "b": 2})
    assert story.evictions("s") == set()


def test_namespaces_share_a_queue_one_to_three(story: Story) -> None:
    names = ("light", "heavy")
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "weight", "namespace": "heavy"},
        "spec": {"hard": {"volcano.sh/namespace.weight": "3"}},
    }  # fmt: skip
    for name in names:
        story.kubectl("create", "namespace", name)
    for name in names:
        story.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name)
    story.apply(queue("shared"), quota)
    story.apply_together(*(one for name in names for one in work(name, "shared", 8, namespace=name)))
    story.until("one to three", lambda: story.running("light", "heavy"), {"light": 2, "heavy": 6})
    story.kubectl("delete", "namespace", *names, "--wait=false")
