"""Gangs with required affinity: the first pod decides for all, so it may have to start in another domain."""

from typing import Any

import pytest

from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Object
from support.planning import plan

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


def test_a_zone_with_room_but_too_few_hosts_is_not_tried() -> None:
    small = [node(f"{zone}-{host}", 8, zone=f"z{zone}") for zone in range(20) for host in range(2)]
    wide = [node(f"wide-{host}", 1, zone="wide") for host in range(3)]
    assert len(places([*small, *wide], gang("g", *[ONE_ZONE] * 3))) == 3


def test_pods_that_differ_are_counted_together() -> None:
    one_host = {"team": "red", "near": [term("host", "red")]}
    work = gang("g", *[one_host] * 8)
    work[1]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "500m"  # a launcher, and its workers
    nodes = [node(f"n-{number}", 7) for number in range(20)]
    assert set(places([*nodes, node("large", 8)], work).values()) == {"large"}


def test_parts_of_a_gang_are_counted_apart() -> None:
    """With `matchLabelKeys` pods that say the same mean different companies."""
    near = {**term("zone", "red"), "matchLabelKeys": ["part"]}
    work = gang("g", *[{"team": "red", "near": [near], "apart": [term("host", "red")]}] * 4)
    for number, one in enumerate(work[1:]):
        one["metadata"]["labels"]["part"] = "ab"[number // 2]
    pairs = [node(f"z{zone}-{host}", 1, zone=f"z{zone}") for zone in range(2) for host in range(2)]
    assert len(places([*pairs, node("tall", 9, zone="tall")], work)) == 4


def test_pods_start_elsewhere_when_others_that_must_be_near_find_no_room() -> None:
    red, blue = ({"team": team, "near": [term("zone", team)]} for team in ("red", "blue"))
    twos = [node(f"two-{number}", 2, zone=f"two-{number}") for number in range(5)]
    ones = [node(f"one-{number}", 1, zone=f"one-{number}") for number in range(5)]
    assert len(places([*ones, *twos], gang("g", red, blue, red, blue))) == 4


@pytest.mark.parametrize("order", [("red", "blue", "blue"), ("blue", "red", "blue"), ("blue", "blue", "red")])
def test_the_first_pod_may_wait_for_the_pods_it_must_be_near(order: tuple[str, ...]) -> None:
    pods = [{"team": team, "near": [term("host", "red")]} for team in order]
    assert len(places([node("n", 4)], gang("g", *pods))) == 3
