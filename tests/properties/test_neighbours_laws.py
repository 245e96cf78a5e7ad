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
from properties.neighbours_twin import Twin
from support.rows import Rows

HOST = "kubernetes.io/hostname"
NAMESPACES = {"default": {"team": "red"}, "other": {"team": "blue"}, "third": {"team": "blue", "old": "yes"}}
CLUSTERS = 600
Document = dict[str, Any]


@dataclass
class Cluster:
    """A small random cluster: nodes, pods that come and go, and the dice that decide."""

    dice: Random
    rows: Rows
    pods: list[PodRow]

    @property
    def nodes(self) -> list[NodeRow]:
        """The nodes."""
        return self.rows.nodes

    def both(self, switches: Predicates) -> tuple[Neighbours, Twin]:
        """Fresh neighbours, and their twin."""
        return Neighbours(NodeColumns(self.nodes), NAMESPACES, switches), Twin(self.nodes, NAMESPACES)


def cluster_of(dice: Random) -> Cluster:
    """Roll a cluster; few labels and few kinds of pods, so that much coincides."""
    rows = Rows()
    for number in range(dice.randint(1, 7)):
        labels = {HOST: f"n{number}", "zone": dice.choice("abc"), "rack": dice.choice("rst")}
        kept = {key: value for key, value in labels.items() if dice.random() < 0.85}
        rows.node(f"n{number}", kept, [_taint(dice)] if dice.random() < 0.3 else [])
    specs = [_spec(dice) for _ in range(dice.randint(1, 4))]
    pods = [
        rows.pod(
            f"p{number}",
            _labels(dice),
            dice.choice(specs),
            namespace=dice.choice(["default", "default", "other", "third", "unknown"]),
            leaving=dice.random() < 0.15,
        )
        for number in range(dice.randint(2, 14))
    ]
    return Cluster(dice, rows, pods)


clusters = st.integers(0, 2**32 - 1).map(lambda seed: cluster_of(Random(seed)))


def _taint(dice: Random) -> str:
    return f"{dice.choice(['gpu', 'old'])}:{dice.choice(['NoSchedule', 'NoExecute', 'PreferNoSchedule'])}"


def _labels(dice: Random) -> dict[str, str]:
    labels = {"app": dice.choice("xy"), "tier": dice.choice("12"), "version": dice.choice("789")}
    return {key: value for key, value in labels.items() if dice.random() < 0.8}


def _spec(dice: Random) -> Document:
    spec: Document = {}
    affinity: Document = {}
    for part in ("podAffinity", "podAntiAffinity"):
        if dice.random() < 0.5:
            affinity[part] = {
                "requiredDuringSchedulingIgnoredDuringExecution": _some(dice, _term),
                "preferredDuringSchedulingIgnoredDuringExecution": _some(
                    dice, lambda dice: {"weight": dice.randint(1, 9), "podAffinityTerm": _term(dice)}
                ),
            }
    if dice.random() < 0.3:
        terms = _some(dice, lambda dice: {"matchExpressions": [_requirement(dice, ["zone", "rack"], "abrs")]})
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        affinity["nodeAffinity"] = required
    if dice.random() < 0.2:
        spec["nodeSelector"] = {"zone": dice.choice("ab")}
    if dice.random() < 0.3:
        spec["tolerations"] = [{"key": dice.choice(["gpu", "old", ""]), "operator": "Exists"}]
    if dice.random() < 0.3:
        spec["containers"] = [{"name": "c", "ports": _some(dice, _port)}]
    if dice.random() < 0.6:
        spec["topologySpreadConstraints"] = _some(dice, _constraint)
    return {**spec, "affinity": affinity}


def _some(dice: Random, make: Callable[[Random], Document]) -> list[Document]:
    return [make(dice) for _ in range(dice.choice([0, 1, 1, 2]))]


def _port(dice: Random) -> Document:
    address = dice.choice(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"])  # noqa: S104 (one of the addresses there are)
    return {
        "hostPort": dice.choice([0, 80, 81]),
        "hostIP": address,
        "protocol": dice.choice(["TCP", "TCP", "UDP"]),
    }


def _term(dice: Random) -> Document:
    term: Document = {"topologyKey": dice.choice([HOST, "zone", "rack"]), "labelSelector": _selector(dice)}
    if dice.random() < 0.3:
        term["namespaces"] = dice.sample(["default", "other", "unknown"], dice.randint(0, 2))
    if dice.random() < 0.3:
        term["namespaceSelector"] = dice.choice(
            [
                {},
                {"matchLabels": {"team": "blue"}},
                {"matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]},
            ]
        )
    if dice.random() < 0.3:
        term["matchLabelKeys"] = [dice.choice(["version", "none"])]
    if dice.random() < 0.3:
        term["mismatchLabelKeys"] = [dice.choice(["version", "tier"])]
    return term


def _constraint(dice: Random) -> Document:
    return {
        "maxSkew": dice.choice([1, 1, 2, 3]),
        "topologyKey": dice.choice([HOST, "zone", "rack"]),
        "whenUnsatisfiable": dice.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": _selector(dice),
        "minDomains": dice.choice([1, 1, 2, 4]),
        "nodeAffinityPolicy": dice.choice(["Honor", "Ignore"]),
        "nodeTaintsPolicy": dice.choice(["Honor", "Ignore"]),
        "matchLabelKeys": dice.choice([[], ["version"], ["none"]]),
    }


def _selector(dice: Random) -> Document | None:
    kind = dice.random()
    if kind < 0.05:
        return None
    if kind < 0.15:
        return {}
    if kind < 0.6:
        return {"matchLabels": {"app": dice.choice("xy")}}
    requirement = _requirement(dice, ["app", "tier", "version"], "xy12")
    return {"matchLabels": {"tier": "1"} if kind < 0.7 else {}, "matchExpressions": [requirement]}


def _requirement(dice: Random, keys: list[str], values: str) -> Document:
    operator = dice.choice(["In", "In", "NotIn", "Exists", "DoesNotExist", "Near"])
    chosen = dice.choices(values, k=dice.randint(1, 3)) if operator in ("In", "NotIn") else []
    return {"key": dice.choice(keys), "operator": operator, "values": chosen}


SWITCH_OF = {
    "ports": "node_ports",
    "affinity": "pod_affinity",
    "anti-affinity": "pod_affinity",
    "anti-affinity of others": "pod_affinity",
    "spread": "pod_topology_spread",
}


def check(fast: Neighbours, twin: Twin, pod: PodRow, switches: Predicates, seen: Counter[str]) -> None:
    """Compare all that is said about one pod."""
    mask = fast.mask(pod)
    expected = []
    for node in twin.nodes:
        verdicts = twin.verdicts(pod, node)
        seen.update(rule for rule, is_fine in verdicts.items() if not is_fine)
        expected.append(all(fine for rule, fine in verdicts.items() if getattr(switches, SWITCH_OF[rule])))
    assert mask.tolist() == expected, pod
    assert [not fast.why_not(pod, node) for node in twin.nodes] == expected
    assert fast.matters_to(pod) or mask.all()
    seen.update(["allowed"] * sum(expected))

    chosen = mask if mask.any() else np.ones(len(mask), np.bool_)
    candidates = [node for node in twin.nodes if chosen[node.index]]
    scores, expected_scores = fast.score(pod, chosen), twin.score(pod, candidates)
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
        dice = cluster.dice
        switches = Predicates(
            node_ports=dice.random() < 0.95,
            pod_affinity=dice.random() < 0.95,
            pod_topology_spread=dice.random() < 0.95,
        )
        fast, twin = cluster.both(switches)
        for _ in range(2 * len(cluster.pods)):
            pod, node = dice.choice(cluster.pods), dice.choice(cluster.nodes)
            if (pod.key, node.name) in twin.placed:
                fast.remove(pod, node)
                twin.remove(pod, node)
            else:
                fast.add(pod, node)
                twin.add(pod, node)
            if dice.random() < 0.3:
                check(fast, twin, dice.choice(cluster.pods), switches, seen)
        check(fast, twin, cluster.pods[0], switches, seen)

    law()
    assert all(seen[what] > CLUSTERS // 10 for what in (*SWITCH_OF, "allowed", "scores")), seen


@settings(max_examples=CLUSTERS // 2)
@given(clusters)
def test_pods_that_have_left_leave_no_trace(cluster: Cluster) -> None:
    """Whoever came and went, in whatever order, the answers are those of neighbours that never saw them."""
    dice = cluster.dice
    stay = {pod.key: dice.choice(cluster.nodes) for pod in cluster.pods if dice.random() < 0.5}
    visits = [(pod, dice.choice(cluster.nodes)) for pod in cluster.pods if pod.key not in stay]
    seen_it_all, _ = cluster.both(Predicates())
    fresh, _ = cluster.both(Predicates())
    for pod in cluster.pods:
        if pod.key in stay:
            seen_it_all.add(pod, stay[pod.key])
            fresh.add(pod, stay[pod.key])
    before = [seen_it_all.mask(pod).tolist() for pod in cluster.pods]
    for pod, node in visits:
        seen_it_all.add(pod, node)
        seen_it_all.mask(dice.choice(cluster.pods))
    dice.shuffle(visits)
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
    dice = cluster.dice
    places = [(pod, dice.choice(cluster.nodes)) for pod in cluster.pods]
    one, _ = cluster.both(Predicates())
    other, _ = cluster.both(Predicates())
    for pod, node in places:
        one.add(pod, node)
    for pod, node in dice.sample(places, len(places)):
        other.add(pod, node)
    for pod in cluster.pods:
        assert one.mask(pod).tolist() == other.mask(pod).tolist()
        assert one.score(pod).tolist() == other.score(pod).tolist()
        assert [one.why_not(pod, n) for n in cluster.nodes] == [other.why_not(pod, n) for n in cluster.nodes]
