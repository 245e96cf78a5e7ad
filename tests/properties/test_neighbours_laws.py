"""Laws of Neighbours: its masks and scores are those of the definition, and who leaves leaves no trace."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.policy.grammar import Predicates
from maar.core.policy.neighbours import Neighbours
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import NodeRow, PodRow
from properties.how_many import cases
from properties.slow_neighbours import SlowNeighbours
from support.rows import Rows

HOST = "kubernetes.io/hostname"
NAMESPACES = {"default": {"team": "red"}, "other": {"team": "blue"}, "third": {"team": "blue", "old": "yes"}}
CLUSTERS = cases(600)
Document = dict[str, Any]


@dataclass
class Cluster:
    """A small random cluster: nodes, pods that come and go, and the random numbers that decide."""

    rng: Random
    rows: Rows
    pods: list[PodRow]

    @property
    def nodes(self) -> list[NodeRow]:
        """The nodes."""
        return self.rows.nodes

    def both(self, switches: Predicates) -> tuple[Neighbours, SlowNeighbours]:
        """Fresh neighbours, fast and slow."""
        fast = Neighbours(NodeColumns(self.nodes), NAMESPACES, switches)
        return fast, SlowNeighbours(self.nodes, NAMESPACES)


def cluster_of(rng: Random) -> Cluster:
    """Roll a cluster; few labels and few kinds of pods, so that much coincides."""
    rows = Rows()
    for number in range(rng.randint(1, 7)):
        labels = {HOST: f"n{number}", "zone": rng.choice("abc"), "rack": rng.choice("rst")}
        kept = {key: value for key, value in labels.items() if rng.random() < 0.85}
        rows.node(f"n{number}", kept, [_taint(rng)] if rng.random() < 0.3 else [])
    specs = [_spec(rng) for _ in range(rng.randint(1, 4))]
    pods = [
        rows.pod(
            f"p{number}",
            _labels(rng),
            rng.choice(specs),
            namespace=rng.choice(["default", "default", "other", "third", "unknown"]),
            leaving=rng.random() < 0.15,
        )
        for number in range(rng.randint(2, 14))
    ]
    return Cluster(rng, rows, pods)


clusters = st.integers(0, 2**32 - 1).map(lambda seed: cluster_of(Random(seed)))


def _taint(rng: Random) -> str:
    return f"{rng.choice(['gpu', 'old'])}:{rng.choice(['NoSchedule', 'NoExecute', 'PreferNoSchedule'])}"


def _labels(rng: Random) -> dict[str, str]:
    labels = {"app": rng.choice("xy"), "tier": rng.choice("12"), "version": rng.choice("789")}
    return {key: value for key, value in labels.items() if rng.random() < 0.8}


def _spec(rng: Random) -> Document:
    spec: Document = {}
    affinity: Document = {}
    for part in ("podAffinity", "podAntiAffinity"):
        if rng.random() < 0.5:
            affinity[part] = {
                "requiredDuringSchedulingIgnoredDuringExecution": _some(rng, _term),
                "preferredDuringSchedulingIgnoredDuringExecution": _some(
                    rng, lambda rng: {"weight": rng.randint(1, 9), "podAffinityTerm": _term(rng)}
                ),
            }
    if rng.random() < 0.3:
        terms = _some(rng, lambda rng: {"matchExpressions": [_requirement(rng, ["zone", "rack"], "abrs")]})
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        affinity["nodeAffinity"] = required
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"zone": rng.choice("ab")}
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": rng.choice(["gpu", "old", ""]), "operator": "Exists"}]
    if rng.random() < 0.3:
        spec["containers"] = [{"name": "c", "ports": _some(rng, _port)}]
    if rng.random() < 0.6:
        spec["topologySpreadConstraints"] = _some(rng, _constraint)
    return {**spec, "affinity": affinity}


def _some(rng: Random, make: Callable[[Random], Document]) -> list[Document]:
    return [make(rng) for _ in range(rng.choice([0, 1, 1, 2]))]


def _port(rng: Random) -> Document:
    address = rng.choice(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"])  # noqa: S104 (one of the addresses there are)
    return {
        "hostPort": rng.choice([0, 80, 81]),
        "hostIP": address,
        "protocol": rng.choice(["TCP", "TCP", "UDP"]),
    }


def _term(rng: Random) -> Document:
    term: Document = {"topologyKey": rng.choice([HOST, "zone", "rack"]), "labelSelector": _selector(rng)}
    if rng.random() < 0.3:
        term["namespaces"] = rng.sample(["default", "other", "unknown"], rng.randint(0, 2))
    if rng.random() < 0.3:
        term["namespaceSelector"] = rng.choice(
            [
                {},
                {"matchLabels": {"team": "blue"}},
                {"matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]},
            ]
        )
    if rng.random() < 0.3:
        term["matchLabelKeys"] = [rng.choice(["version", "none"])]
    if rng.random() < 0.3:
        term["mismatchLabelKeys"] = [rng.choice(["version", "tier"])]
    return term


def _constraint(rng: Random) -> Document:
    return {
        "maxSkew": rng.choice([1, 1, 2, 3]),
        "topologyKey": rng.choice([HOST, "zone", "rack"]),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": _selector(rng),
        "minDomains": rng.choice([1, 1, 2, 4]),
        "nodeAffinityPolicy": rng.choice(["Honor", "Ignore"]),
        "nodeTaintsPolicy": rng.choice(["Honor", "Ignore"]),
        "matchLabelKeys": rng.choice([[], ["version"], ["none"]]),
    }


def _selector(rng: Random) -> Document | None:
    kind = rng.random()
    if kind < 0.05:
        return None
    if kind < 0.15:
        return {}
    if kind < 0.6:
        return {"matchLabels": {"app": rng.choice("xy")}}
    requirement = _requirement(rng, ["app", "tier", "version"], "xy12")
    return {"matchLabels": {"tier": "1"} if kind < 0.7 else {}, "matchExpressions": [requirement]}


def _requirement(rng: Random, keys: list[str], values: str) -> Document:
    operator = rng.choice(["In", "In", "NotIn", "Exists", "DoesNotExist", "Near"])
    chosen = rng.choices(values, k=rng.randint(1, 3)) if operator in ("In", "NotIn") else []
    return {"key": rng.choice(keys), "operator": operator, "values": chosen}


SWITCH_OF = {
    "ports": "node_ports",
    "affinity": "pod_affinity",
    "anti-affinity": "pod_affinity",
    "anti-affinity of others": "pod_affinity",
    "spread": "pod_topology_spread",
}


def check(
    fast: Neighbours, slow: SlowNeighbours, pod: PodRow, switches: Predicates, seen: Counter[str]
) -> None:
    """Compare all that is said about one pod."""
    mask = fast.mask(pod)
    expected = []
    for node in slow.nodes:
        verdicts = slow.verdicts(pod, node)
        seen.update(rule for rule, is_fine in verdicts.items() if not is_fine)
        expected.append(all(fine for rule, fine in verdicts.items() if getattr(switches, SWITCH_OF[rule])))
    assert mask.tolist() == expected, pod
    assert [not fast.why_not(pod, node) for node in slow.nodes] == expected
    assert fast.matters_to(pod) or mask.all()
    seen.update(["allowed"] * sum(expected))

    chosen = mask if mask.any() else np.ones(len(mask), np.bool_)
    candidates = [node for node in slow.nodes if chosen[node.index]]
    scores, expected_scores = fast.score(pod, chosen), slow.score(pod, candidates)
    assert {node.name: scores[node.index] for node in candidates} == pytest.approx(expected_scores)
    assert fast.prefers(pod) or not scores.any()
    seen.update(["scores"] * (len({*expected_scores.values()}) > 1))


@pytest.mark.parametrize("forgets", [False, True], ids=["all remembered", "little remembered"])
def test_masks_and_scores_are_those_of_the_definition_while_pods_come_and_go(
    monkeypatch: pytest.MonkeyPatch, *, forgets: bool
) -> None:
    seen: Counter[str] = Counter()
    for limit in ("tallies._MOST_TALLIES", "term_cache._MOST", "spread._MOST_ELIGIBLE") if forgets else ():
        monkeypatch.setattr(f"maar.core.policy.{limit}", 2)

    @settings(max_examples=CLUSTERS)
    @given(clusters)
    def law(cluster: Cluster) -> None:
        rng = cluster.rng
        switches = Predicates(
            node_ports=rng.random() < 0.95,
            pod_affinity=rng.random() < 0.95,
            pod_topology_spread=rng.random() < 0.95,
        )
        fast, slow = cluster.both(switches)
        for _ in range(2 * len(cluster.pods)):
            pod, node = rng.choice(cluster.pods), rng.choice(cluster.nodes)
            if (pod.key, node.name) in slow.placed:
                fast.remove(pod, node)
                slow.remove(pod, node)
            else:
                fast.add(pod, node)
                slow.add(pod, node)
            if rng.random() < 0.3:
                check(fast, slow, rng.choice(cluster.pods), switches, seen)
        check(fast, slow, cluster.pods[0], switches, seen)

    law()
    assert all(seen[what] > CLUSTERS // 10 for what in (*SWITCH_OF, "allowed", "scores")), seen


@settings(max_examples=CLUSTERS // 2)
@given(clusters)
def test_pods_that_have_left_leave_no_trace(cluster: Cluster) -> None:
    """Whoever came and went, in whatever order, the answers are those of neighbours that never saw them."""
    rng = cluster.rng
    stay = {pod.key: rng.choice(cluster.nodes) for pod in cluster.pods if rng.random() < 0.5}
    visits = [(pod, rng.choice(cluster.nodes)) for pod in cluster.pods if pod.key not in stay]
    seen_it_all, _ = cluster.both(Predicates())
    fresh, _ = cluster.both(Predicates())
    for pod in cluster.pods:
        if pod.key in stay:
            seen_it_all.add(pod, stay[pod.key])
            fresh.add(pod, stay[pod.key])
    before = [seen_it_all.mask(pod).tolist() for pod in cluster.pods]
    for pod, node in visits:
        seen_it_all.add(pod, node)
        seen_it_all.mask(rng.choice(cluster.pods))
    rng.shuffle(visits)
    for pod, node in visits:
        seen_it_all.remove(pod, node)
    for pod, old in zip(cluster.pods, before, strict=True):
        assert seen_it_all.mask(pod).tolist() == old == fresh.mask(pod).tolist()
        assert seen_it_all.score(pod).tolist() == fresh.score(pod).tolist()
        assert seen_it_all.matters_to(pod) == fresh.matters_to(pod)
        assert seen_it_all.prefers(pod) == fresh.prefers(pod)


@settings(max_examples=CLUSTERS // 4)
@given(clusters)
def test_the_order_in_which_pods_came_does_not_matter(cluster: Cluster) -> None:
    rng = cluster.rng
    places = [(pod, rng.choice(cluster.nodes)) for pod in cluster.pods]
    one, _ = cluster.both(Predicates())
    other, _ = cluster.both(Predicates())
    for pod, node in places:
        one.add(pod, node)
    for pod, node in rng.sample(places, len(places)):
        other.add(pod, node)
    for pod in cluster.pods:
        assert one.mask(pod).tolist() == other.mask(pod).tolist()
        assert one.score(pod).tolist() == other.score(pod).tolist()
        assert [one.why_not(pod, n) for n in cluster.nodes] == [other.why_not(pod, n) for n in cluster.nodes]
