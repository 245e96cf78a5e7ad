"""Stories of gangs that a drained node leaves halved, on a real cluster."""

from collections.abc import Iterator

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.story import NODES, Story, cluster, on_both_nodes, pods_of, queue


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs_kubernetes()
    with cluster(tmp_path_factory.mktemp("half-gangs")) as story:
        yield story


@pytest.fixture
def story(running: Story) -> Iterator[Story]:
    """An empty cluster of eight processors."""
    yield running
    running.clear()


@pytest.mark.parametrize("second", ["a", "b"], ids=["in one queue", "in two queues"])
def test_gangs_that_a_drained_node_leaves_halved_do_not_wait_for_each_other(
    story: Story, second: str
) -> None:
    story.apply(queue("a"), queue("b"), *on_both_nodes("first", "a"), *on_both_nodes("second", second))
    story.until("both run", lambda: story.running("first", "second"), {"first": 4, "second": 4})
    story.kubectl("cordon", NODES[1])
    lost = [*range(2, 4)]
    story.kubectl("delete", "pods", *(f"{name}-{number}" for name in ("first", "second") for number in lost))
    story.apply(*(pod for name in ("first", "second") for pod in pods_of(name, 4)[2:]))
    story.until_holds(
        "one of them has the node that is left",
        lambda: sorted(story.running("first", "second").values()),
        lambda counts: counts == [0, 4],
    )
    gone = next(name for name, count in story.running("first", "second").items() if not count)
    assert all(one.startswith("evicted by cleanup for default/") for one in story.evictions(gone))
    assert story.evictions(gone)
