"""Gangs that must be together: the first pod decides for all, so it may have to begin elsewhere."""

from typing import Any

import pytest

from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.views.planning import plan

Json = dict[str, Any]


def typed(document: Json) -> Object:
    kind = kind_of(document["apiVersion"], document["kind"])
    assert kind is not None
    return from_document(kind, document)


def node(name: str, cpu: int, **labels: str) -> Json:
    status = {
        "allocatable": {"cpu": str(cpu), "pods": "20"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    metadata = {"name": name, "labels": {"host": name, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def term(topology: str, *teams: str) -> Json:
    among = {"matchExpressions": [{"key": "team", "operator": "In", "values": list(teams)}]}
    return {"labelSelector": among, "topologyKey": topology}


def gang(name: str, *pods: Json) -> list[Json]:
    """Pods that only start together; each is made of its labels and what it says of others."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": len(pods), "queue": "default"},
        "status": {"phase": "Inqueue"},
    }
    return [group, *(pod(name, number, **one) for number, one in enumerate(pods))]


def pod(gang: str, number: int, team: str, near: list[Json], apart: list[Json] | None = None) -> Json:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"podAffinity": {required: near}, "podAntiAffinity": {required: apart or []}}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{gang}-{number}",
            "namespace": "default",
            "labels": {"team": team},
            "annotations": {"scheduling.k8s.io/group-name": gang},
        },
        "spec": {"schedulerName": "volcano", "containers": [container], "affinity": affinity},
    }


def places(nodes: list[Json], work: list[Json]) -> dict[str, str]:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "default"}}
    plugins = [{"name": name} for name in ("gang", "proportion", "predicates", "nodeorder")]
    emptiest = {"tiers": [{"plugins": plugins}]}  # nodes are preferred on which nothing is yet
    cycle: Any = plan([typed(one) for one in (queue, *nodes, *work)], emptiest)["cycles"]
    binds: dict[str, str] = cycle[0]["binds"]
    return {key.partition("/")[2]: node for key, node in binds.items()}


ONE_ZONE = {"team": "red", "near": [term("zone", "red")], "apart": [term("host", "red")]}


def test_a_domain_with_room_but_too_few_nodes_is_left_for_another() -> None:
    wide = [node(f"east-{number}", 1, zone="east") for number in range(3)]
    tall = [node("north-1", 8, zone="north"), node("west-1", 8, zone="west")]  # room for all, on one node
    found = places([*tall, *wide], gang("g", *[ONE_ZONE] * 3))
    assert set(found.values()) == {"east-0", "east-1", "east-2"}


@pytest.mark.parametrize("large", ["a", "b", "c"])
def test_a_gang_finds_the_only_domain_that_holds_it(large: str) -> None:
    nodes = [node(f"{zone}-1", 5 if zone == large else 4, zone=zone) for zone in "abc"]
    found = places(nodes, gang("g", *[{"team": "red", "near": [term("zone", "red")]}] * 5))
    assert set(found.values()) == {f"{large}-1"}
    assert len(found) == 5


def test_two_parts_of_a_gang_each_find_a_domain() -> None:
    """The second part fits only where the first began, which therefore begins again."""
    parts = [
        *[{"team": "red", "near": [term("zone", "red")]}] * 2,
        *[{"team": "blue", "near": [term("zone", "blue")]}] * 4,
    ]
    nodes = [node("big-1", 4, zone="big"), node("small-1", 2, zone="small")]
    for order in (nodes, nodes[::-1]):
        found = places(order, gang("g", *parts))
        assert {found[f"g-{number}"] for number in range(2)} == {"small-1"}
        assert {found[f"g-{number}"] for number in range(2, 6)} == {"big-1"}


def test_nothing_is_placed_where_no_domain_holds_the_gang() -> None:
    nodes = [node(f"{zone}-1", 4, zone=zone) for zone in "abc"]
    assert places(nodes, gang("g", *[{"team": "red", "near": [term("zone", "red")]}] * 5)) == {}
