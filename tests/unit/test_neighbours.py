"""What other pods allow: host ports, pod affinity both ways, topology spread, and the words for each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from maar.core.policy.grammar import Predicates
from maar.core.policy.neighbours import Neighbours
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import PodRow
from support.rows import Rows

HOST = "kubernetes.io/hostname"
NAMESPACES = {"default": {"team": "red"}, "blue": {"team": "blue"}}
WEB, API, TIER = {"app": "web"}, {"app": "api"}, {"tier": "1"}
Document = dict[str, Any]
Placed = tuple[str, dict[str, str], Document]  # node, labels, spec


class FourNodes:
    """Two nodes in zone a, one in zone b, one in none."""

    def __init__(
        self, *placed: Placed, switches: Predicates | None = None, namespace: str = "default"
    ) -> None:
        self.rows = Rows()
        for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("x1", "")):
            self.rows.node(name, {HOST: name} | ({"zone": zone} if zone else {}))
        self.neighbours = Neighbours(NodeColumns(self.rows.nodes), NAMESPACES, switches or Predicates())
        for number, (node, labels, spec) in enumerate(placed):
            self.put(self.rows.pod(f"old-{number}", labels, spec, namespace=namespace), node)

    def put(self, pod: PodRow, name: str) -> None:
        """Put a pod on a node."""
        self.neighbours.add(pod, next(node for node in self.rows.nodes if node.name == name))

    def allowed(self, pod: PodRow) -> str:
        """The nodes that are left; clauses and the question whether it matters must agree."""
        mask = self.neighbours.mask(pod)
        assert self.neighbours.matters_to(pod) or mask.all()
        assert [not self.neighbours.why_not(pod, node) for node in self.rows.nodes] == mask.tolist()
        return " ".join(node.name for node, fine in zip(self.rows.nodes, mask, strict=True) if fine)


def term(topology: str = "zone", labels: dict[str, str] | None = None, **more: object) -> Document:
    return {
        "topologyKey": topology,
        "labelSelector": {"matchLabels": WEB if labels is None else labels},
        **more,
    }


def near(*terms: Document) -> Document:
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def away(*terms: Document) -> Document:
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def prefer(kind: str, weight: int, what: Document) -> Document:
    preferred = [{"weight": weight, "podAffinityTerm": what}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}


def spread(topology: str = "zone", skew: int = 1, *, soft: bool = False, **more: object) -> Document:
    return {
        "maxSkew": skew,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
        **more,
    }


def spreading(*constraints: Document, **spec: object) -> Document:
    return {"topologySpreadConstraints": list(constraints), **spec}


def ports(*written: str) -> Document:
    """Host ports, written number/protocol/address."""
    parts = [text.split("/") for text in written]
    listed = [{"hostPort": int(number), "protocol": protocol, "hostIP": ip} for number, protocol, ip in parts]
    return {"containers": [{"name": "c", "ports": listed}]}


@pytest.mark.parametrize(
    ("taken", "wanted", "expected"),
    [
        ("80/TCP/", "80/TCP/", "a2 b1 x1"),
        ("80/TCP/", "81/TCP/", "a1 a2 b1 x1"),
        ("80/TCP/", "80/UDP/", "a1 a2 b1 x1"),
        ("80/TCP/10.0.0.1", "80/TCP/10.0.0.1", "a2 b1 x1"),
        ("80/TCP/10.0.0.1", "80/TCP/10.0.0.2", "a1 a2 b1 x1"),
        ("80/TCP/10.0.0.1", "80/TCP/", "a2 b1 x1"),
        ("80/TCP/0.0.0.0", "80/TCP/10.0.0.1", "a2 b1 x1"),
        ("0/TCP/", "0/TCP/", "a1 a2 b1 x1"),
    ],
)
def test_a_host_port_is_given_once_per_address(taken: str, wanted: str, expected: str) -> None:
    cluster = FourNodes(("a1", {}, ports(taken)))
    assert cluster.allowed(cluster.rows.pod(spec=ports(wanted))) == expected


@pytest.mark.parametrize(
    ("placed", "labels", "spec", "expected"),
    [
        ([("a1", WEB, {})], {}, near(term()), "a1 a2"),
        ([("a1", WEB, {})], {}, near(term(HOST)), "a1"),
        ([("a1", WEB, {})], {}, near(term(), term(HOST)), "a1"),
        ([("a1", WEB, {})], {}, near(term("rack")), ""),
        ([], WEB, near(term()), "a1 a2 b1"),
        ([], API, near(term()), ""),
        ([("x1", WEB, {})], WEB, near(term()), "a1 a2 b1"),
        ([("x1", WEB, {})], WEB, near(term(), term(HOST)), ""),
        ([("b1", WEB, {})], WEB, near(term()), "b1"),
        ([("a1", WEB, {}), ("b1", TIER, {})], {}, near(term(), term(labels=TIER)), ""),
        ([("a1", WEB, {}), ("b1", WEB | TIER, {})], {}, near(term(), term(labels=TIER)), "b1"),
        ([("a1", API, {})], API, near(term(labels={})), "a1 a2"),
        ([("a1", WEB, {})], WEB, near({"topologyKey": "zone"}), ""),
    ],
)  # fmt: skip
def test_required_affinity_asks_for_a_pod_that_meets_all_terms_nearby(
    placed: list[Placed], labels: dict[str, str], spec: Document, expected: str
) -> None:
    cluster = FourNodes(*placed)
    assert cluster.allowed(cluster.rows.pod("new", labels, spec)) == expected


@pytest.mark.parametrize(
    ("placed", "labels", "spec", "expected"),
    [
        ([("a1", WEB, {})], {}, away(term(HOST)), "a2 b1 x1"),
        ([("a1", WEB, {})], {}, away(term()), "b1 x1"),
        ([("x1", WEB, {})], {}, away(term()), "a1 a2 b1 x1"),
        ([("a1", WEB, {}), ("b1", API, {})], {}, away(term(), term(labels=API)), "x1"),
        ([("a1", WEB, {})], {}, away({"topologyKey": "zone"}), "a1 a2 b1 x1"),
        ([("a1", {}, away(term()))], WEB, {}, "b1 x1"),
        ([("a1", {}, away(term()))], API, {}, "a1 a2 b1 x1"),
        ([("a1", {}, away(term(HOST))), ("b1", {}, away(term(HOST)))], WEB, {}, "a2 x1"),
        ([("x1", {}, away(term()))], WEB, {}, "a1 a2 b1 x1"),
        ([("a1", {}, near(term()))], WEB, {}, "a1 a2 b1 x1"),
        ([("a1", WEB, away(term()))], WEB, away(term()), "b1 x1"),
    ],
)
def test_anti_affinity_keeps_apart_whoever_said_so(
    placed: list[Placed], labels: dict[str, str], spec: Document, expected: str
) -> None:
    cluster = FourNodes(*placed)
    assert cluster.allowed(cluster.rows.pod("new", labels, spec)) == expected


@pytest.mark.parametrize(
    ("namespace", "more", "expected"),
    [
        ("default", {}, "b1 x1"),
        ("blue", {}, "a1 a2 b1 x1"),
        ("blue", {"namespaces": []}, "a1 a2 b1 x1"),
        ("blue", {"namespaces": ["default"]}, "b1 x1"),
        ("default", {"namespaces": ["blue"]}, "a1 a2 b1 x1"),
        ("blue", {"namespaceSelector": {}}, "b1 x1"),
        ("blue", {"namespaceSelector": {"matchLabels": {"team": "red"}}}, "b1 x1"),
        ("default", {"namespaceSelector": {"matchLabels": {"team": "blue"}}}, "a1 a2 b1 x1"),
        ("default", {"namespaceSelector": {"matchLabels": {"team": "blue"}}, "namespaces": ["default"]},
         "b1 x1"),
    ],
)  # fmt: skip
def test_a_term_speaks_of_its_own_namespace_unless_it_names_or_selects_others(
    namespace: str, more: Document, expected: str
) -> None:
    cluster = FourNodes(("a1", WEB, {}))
    assert cluster.allowed(cluster.rows.pod(spec=away(term(**more)), namespace=namespace)) == expected


@pytest.mark.parametrize(
    ("version", "more", "expected"),
    [
        ("1", {"matchLabelKeys": ["version"]}, "b1 x1"),
        ("2", {"matchLabelKeys": ["version"]}, "a1 a2 b1 x1"),
        ("", {"matchLabelKeys": ["version"]}, "b1 x1"),
        ("1", {"mismatchLabelKeys": ["version"]}, "a1 a2 b1 x1"),
        ("2", {"mismatchLabelKeys": ["version"]}, "b1 x1"),
    ],
)
def test_label_keys_narrow_a_term_to_pods_like_or_unlike_its_own(
    version: str, more: Document, expected: str
) -> None:
    cluster = FourNodes(("a1", WEB | {"version": "1"}, {}))
    other = cluster.rows.pod("other", {"version": "1"}, away(term(**more)))
    cluster.allowed(other)  # has the same shape, and must not leave its meaning behind
    labels = {"version": version} if version else {}
    assert cluster.allowed(cluster.rows.pod("new", labels, away(term(**more)))) == expected


@pytest.mark.parametrize(
    ("placed", "labels", "spec", "expected"),
    [
        ("", WEB, spreading(spread()), "a1 a2 b1"),
        ("a1", WEB, spreading(spread()), "b1"),
        ("a1", WEB, spreading(spread(skew=2)), "a1 a2 b1"),
        ("a1", API, spreading(spread()), "a1 a2 b1"),
        ("a1 b1", WEB, spreading(spread()), "a1 a2 b1"),
        ("a1 a2", API, spreading(spread()), "b1"),
        ("a1", WEB, spreading(spread(HOST)), "a2 b1 x1"),
        ("a1 x1", WEB, spreading(spread(), spread(HOST)), "b1"),
        ("x1", WEB, spreading(spread()), "a1 a2 b1"),
        ("a1", WEB, spreading(spread("rack")), ""),
        ("a1", WEB, spreading(spread(soft=True)), "a1 a2 b1 x1"),
        ("a1 b1", WEB, spreading(spread(minDomains=2)), "a1 a2 b1"),
        ("a1 b1", WEB, spreading(spread(minDomains=3)), ""),
        ("a1", WEB, spreading(spread(minDomains=3)), "b1"),
        ("a1", WEB, spreading(spread(), nodeSelector={"zone": "a"}), "a1 a2 b1"),
        ("a1", WEB, spreading(spread(nodeAffinityPolicy="Ignore"), nodeSelector={"zone": "a"}), "b1"),
        ("a1", WEB, spreading(spread(labelSelector={})), "b1"),
        ("a1", WEB, spreading(spread(labelSelector=None)), "a1 a2 b1"),
        ("a1", WEB | {"v": "2"}, spreading(spread(matchLabelKeys=["v"])), "a1 a2 b1"),
        ("a1", WEB | {"w": "2"}, spreading(spread(matchLabelKeys=["v"])), "b1"),
    ],
)
def test_a_hard_spread_keeps_domains_within_the_skew(
    placed: str, labels: dict[str, str], spec: Document, expected: str
) -> None:
    cluster = FourNodes(*[(node, WEB, {}) for node in placed.split()])
    assert cluster.allowed(cluster.rows.pod("new", labels, spec)) == expected


@pytest.mark.parametrize(
    ("policy", "tolerations", "expected"),
    [
        ("Ignore", [], ""),
        ("Honor", [], "a b"),
        ("Honor", [{"key": "gpu", "operator": "Exists"}], ""),
    ],
)
def test_a_spread_may_leave_out_nodes_whose_taints_keep_the_pod_out(
    policy: str, tolerations: list[Document], expected: str
) -> None:
    """With the empty tainted zone c no other zone may grow; without it all are level."""
    rows = Rows()
    for zone in "abc":
        rows.node(zone, {"zone": zone}, ["gpu:NoSchedule"] if zone == "c" else [])
    neighbours = Neighbours(NodeColumns(rows.nodes), {}, Predicates())
    for node in rows.nodes[:2]:
        neighbours.add(rows.pod(f"on-{node.name}", WEB), node)
    spec = spreading(spread(nodeTaintsPolicy=policy), tolerations=tolerations)
    mask = neighbours.mask(rows.pod("new", WEB, spec))
    assert " ".join(node.name for node in rows.nodes[:2] if mask[node.index]) == expected


def test_pods_that_are_leaving_do_not_count_for_a_spread_but_keep_others_away() -> None:
    cluster = FourNodes()
    cluster.put(cluster.rows.pod("old", WEB, {}, leaving=True), "a1")
    assert cluster.allowed(cluster.rows.pod("new", WEB, spreading(spread()))) == "a1 a2 b1"
    assert cluster.allowed(cluster.rows.pod("new", WEB, away(term()))) == "b1 x1"


def test_pods_of_other_namespaces_do_not_count_for_a_spread() -> None:
    cluster = FourNodes(("a1", WEB, {}), namespace="blue")
    assert cluster.allowed(cluster.rows.pod("new", WEB, spreading(spread()))) == "a1 a2 b1"


@pytest.mark.parametrize(
    ("spec", "switch"),
    [
        (ports("80/TCP/"), "node_ports"),
        (away(term()), "pod_affinity"),
        (spreading(spread()), "pod_topology_spread"),
    ],
)
def test_what_is_switched_off_is_not_asked(spec: Document, switch: str) -> None:
    placed: Placed = ("a1", WEB, ports("80/TCP/"))
    asked, silent = FourNodes(placed), FourNodes(placed, switches=Predicates(**{switch: False}))
    pod = asked.rows.pod("new", WEB, spec)
    assert asked.allowed(pod) != "a1 a2 b1 x1"
    assert silent.allowed(pod) == "a1 a2 b1 x1"
    assert not silent.neighbours.matters_to(pod)


@pytest.mark.parametrize(
    ("labels", "spec", "matters"),
    [
        ({}, {}, False),
        (API, {}, False),
        (WEB, {}, True),
        ({}, ports("80/TCP/"), True),
        ({}, near(term()), True),
        ({}, away(term()), True),
        ({}, spreading(spread()), True),
        ({}, spreading(spread(soft=True)), False),
        ({}, prefer("podAffinity", 1, term()), False),
    ],
)
def test_neighbours_matter_to_pods_with_terms_and_to_pods_that_terms_speak_of(
    labels: dict[str, str], spec: Document, *, matters: bool
) -> None:
    cluster = FourNodes(("a1", {}, away(term())))
    assert cluster.neighbours.matters_to(cluster.rows.pod("new", labels, spec)) is matters


def test_a_pod_counts_once_per_node_and_goes_as_it_came() -> None:
    cluster = FourNodes()
    node = cluster.rows.nodes[0]
    wants = cluster.rows.pod("new", {}, away(term()))
    old, changed = cluster.rows.pod("old", WEB), cluster.rows.pod("old", API)
    cluster.neighbours.add(old, node)
    cluster.neighbours.add(old, node)
    assert cluster.allowed(wants) == "b1 x1"
    cluster.neighbours.remove(changed, node)
    assert cluster.allowed(wants) == "a1 a2 b1 x1"
    cluster.neighbours.add(old, node)
    cluster.neighbours.add(changed, node)
    assert cluster.allowed(wants) == "a1 a2 b1 x1"
    cluster.neighbours.remove(changed, node)
    cluster.neighbours.remove(changed, node)
    assert cluster.allowed(cluster.rows.pod("other", {}, near(term(labels=API)))) == ""


@pytest.mark.parametrize(
    ("placed", "labels", "spec", "expected"),
    [
        ([], WEB, {}, [0, 0, 0, 0]),
        ([("a1", WEB, {})], {}, prefer("podAffinity", 5, term()), [200, 200, 0, 0]),
        ([("a1", WEB, {})], {}, prefer("podAntiAffinity", 5, term()), [0, 0, 200, 200]),
        ([("a1", WEB, {}), *[("b1", WEB, {})] * 2], {}, prefer("podAffinity", 1, term()), [100, 100, 200, 0]),
        ([("a1", {}, prefer("podAffinity", 9, term()))], WEB, {}, [200, 200, 0, 0]),
        ([("a1", {}, prefer("podAntiAffinity", 9, term(HOST)))], WEB, {}, [0, 200, 200, 200]),
        ([("a1", {}, prefer("podAffinity", 9, term()))], API, {}, [0, 0, 0, 0]),
        ([("a1", WEB, {})], WEB, spreading(spread(soft=True)), [0, 0, 200, 0]),
        ([], WEB, spreading(spread(soft=True)), [200, 200, 200, 0]),
        ([("a1", WEB, {}), ("a2", WEB, {}), ("b1", WEB, {})], WEB, spreading(spread(soft=True)),
         [100, 100, 200, 0]),
        ([("a1", WEB, {})], WEB, spreading(spread(HOST, soft=True)), [0, 200, 200, 200]),
    ],
)  # fmt: skip
def test_preferences_score_from_0_to_100_times_their_weight(
    placed: list[Placed], labels: dict[str, str], spec: Document, expected: Sequence[float]
) -> None:
    cluster = FourNodes(*placed)
    pod = cluster.rows.pod("new", labels, spec)
    assert cluster.neighbours.score(pod).tolist() == pytest.approx(expected)
    assert cluster.neighbours.prefers(pod) or not any(expected)


def test_scores_are_stretched_over_the_candidates_and_weighted() -> None:
    cluster = FourNodes(*[("a1", WEB, {})] * 9, ("b1", WEB, {}))
    pod = cluster.rows.pod("new", {}, prefer("podAffinity", 1, term()))
    among = np.array([False, False, True, True])
    assert cluster.neighbours.score(pod, among, affinity_weight=1)[among].tolist() == [100, 0]
    assert cluster.neighbours.score(pod, affinity_weight=0).tolist() == [0, 0, 0, 0]
    assert cluster.neighbours.score(pod, np.zeros(4, np.bool_)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("placed", "labels", "spec", "node", "expected"),
    [
        ([], WEB, {}, 0, ""),
        ([("a1", {}, ports("80/TCP/"))], {}, ports("80/TCP/"), 0, "have no free host port 80/TCP"),
        ([], {}, near(term()), 0, "do not match the pod affinity on zone"),
        ([], {}, near(term()), 3, "have no label zone, which the pod affinity needs"),
        ([("a1", WEB, {})], {}, away(term()), 1, "do not match the pod anti-affinity on zone"),
        ([("a1", {}, away(term()))], WEB, {}, 1,
         "have pods whose anti-affinity on zone keeps the pod away"),
        ([("a1", WEB, {})], WEB, spreading(spread()), 1,
         "do not match the topology spread on zone (max skew 1)"),
        ([], WEB, spreading(spread()), 3, "have no label zone, which the topology spread needs"),
    ],
)  # fmt: skip
def test_a_clause_names_what_keeps_the_pod_off(
    placed: list[Placed], labels: dict[str, str], spec: Document, node: int, expected: str
) -> None:
    cluster = FourNodes(*placed)
    assert (
        cluster.neighbours.why_not(cluster.rows.pod("new", labels, spec), cluster.rows.nodes[node])
        == expected
    )


def test_a_cluster_without_nodes_has_no_neighbours() -> None:
    neighbours = Neighbours(NodeColumns(), {}, Predicates())
    pod = Rows().pod("new", WEB, spreading(spread()) | near(term()))
    assert neighbours.mask(pod).shape == neighbours.score(pod).shape == (0,)
