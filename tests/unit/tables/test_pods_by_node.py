"""Pods and nodes in any order: a pod finds its node, and a node its own pods without a search."""

from typing import NoReturn

from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeSpec, NodeStatus
from maar.core.model.pod import Pod, PodSpec, PodStatus
from maar.core.model.resources import Resources
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables


def node(number: int, *, is_cordoned: bool = False) -> Event:
    status = NodeStatus(
        allocatable=Resources({"cpu": 1000, "pods": 10}),
        conditions=(Condition(type="Ready", status="True"),),
    )
    metadata = Metadata(name=f"n-{number}")
    return Upserted(object=Node(metadata=metadata, spec=NodeSpec(unschedulable=is_cordoned), status=status))


def pod(name: str, on: str = "", promised: str = "") -> Event:
    status = PodStatus(phase="Running" if on else "Pending", nominated_node_name=promised)
    spec = PodSpec(node_name=on, scheduler_name="volcano")
    return Upserted(object=Pod(metadata=Metadata(name=name, namespace="a"), spec=spec, status=status))


def tables_of(*events: Event) -> Tables:
    tables = Tables()
    tables.feed(events)
    tables.settle()
    return tables


def counted(tables: Tables) -> dict[str, tuple[list[int], list[int], list[str]]]:
    return {name: (one.now, one.later, sorted(one.pods)) for name, one in tables.nodes.items()}


def test_a_node_that_comes_after_its_pods_has_them() -> None:
    pods = (pod("p", on="n-0"), pod("q", on="n-0"), pod("r", promised="n-0"), pod("s", on="n-1"))
    after = counted(tables_of(*pods, node(0)))
    assert after == counted(tables_of(node(0), *pods))
    assert after["n-0"][2] == ["a/p", "a/q"]


def test_a_node_that_comes_back_has_its_pods_again_and_none_that_left_meanwhile() -> None:
    gone = Deleted(kind="Node", key="n-0")
    tables = tables_of(node(0), pod("p", on="n-0"), pod("q", on="n-0"), pod("r", promised="n-0"), gone)
    assert counted(tables) == {}
    tables.feed([Deleted(kind="Pod", key="a/q"), pod("r"), pod("s", on="n-0"), node(0)])
    assert counted(tables) == counted(tables_of(node(0), pod("p", on="n-0"), pod("r"), pod("s", on="n-0")))


def test_a_changed_node_keeps_its_pods() -> None:
    pods = (pod("p", on="n-0"), pod("r", promised="n-0"))
    changed = tables_of(node(0), *pods, node(0, is_cordoned=True))
    assert counted(changed) == counted(tables_of(node(0, is_cordoned=True), *pods))


def test_a_change_of_a_node_looks_at_no_pod_elsewhere() -> None:
    tables = tables_of(node(0), pod("p", on="n-0"), pod("q", on="n-1"), pod("r", promised="n-1"))
    tables.pods = Unsearched(tables.pods)
    tables.feed([node(1), node(1, is_cordoned=True), Deleted(kind="Node", key="n-1"), node(2)])
    tables.feed([pod("s", on="n-2"), pod("q", on="n-2"), Deleted(kind="Pod", key="a/p")])
    assert counted(tables) == counted(
        tables_of(node(0), node(2), pod("q", on="n-2"), pod("s", on="n-2"), pod("r", promised="n-1"))
    )


class Unsearched(dict[str, PodRow]):
    """Pods by key, which may be looked up by their key only."""

    def values(self) -> NoReturn:
        """Refuse to be searched."""
        raise AssertionError("all pods are searched")

    __iter__ = items = values
