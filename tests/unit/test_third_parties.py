"""Third parties' plugins in a cycle: their filters, scores, orders and vetoes are asked."""

from collections.abc import Mapping
from typing import Any

import yaml

from maar.core.policy.configuration import Configuration, parse
from maar.core.policy.plugin_hooks import NodeView, PluginHooks, PodView
from support.planning import plan
from support.scenario import read

USUAL = (
    "priority",
    "gang",
    "conformance",
    "overcommit",
    "drf",
    "predicates",
    "proportion",
    "nodeorder",
    "binpack",
)


def with_plugin(hooks: PluginHooks) -> Configuration:
    def make(arguments: Mapping[str, object]) -> PluginHooks:
        assert arguments == {"colour": "blue"}
        return hooks

    theirs = {"name": "theirs", "arguments": {"colour": "blue"}}
    tiers = [{"plugins": [{"name": name} for name in USUAL]}, {"plugins": [theirs]}]
    return parse({"tiers": tiers}, {"theirs": make})


def planned(lines: str, hooks: PluginHooks) -> dict[str, Any]:
    scenario = read(
        {"title": "t", "rule": "4.plugins.1", **yaml.safe_load(lines), "expect": {"binds": {}}}, "t"
    )
    decided: Any = plan(scenario.cluster.objects(), with_plugin(hooks), now=scenario.now)["cycles"]
    first: dict[str, Any] = decided[0]
    return first


TWO_NODES = "nodes: {n: {count: 2, cpu: 4}}\nqueues: {a: {}}\npending: {a/j: {cpu: 1}}"
FULL = """nodes: {n: {cpu: 2}}
queues: {a: {}, b: {}}
running: {b/j: {pods: 2, cpu: 1}}
pending: {a/j: {cpu: 1}}"""
TWO_JOBS = "nodes: {n: {cpu: 1}}\nqueues: {a: {}}\npending: {a/old: {cpu: 1}, a/new: {cpu: 1}}"


def test_a_filter_keeps_pods_off_nodes() -> None:
    hooks = PluginHooks(filter=lambda _pod, node: node.name.endswith("1"))
    assert set(planned(TWO_NODES, hooks)["binds"].values()) == {"n1"}


def test_a_score_is_added_to_ours() -> None:
    hooks = PluginHooks(score=lambda _pod, node: 1_000.0 if node.name.endswith("1") else 0.0)
    assert set(planned(TWO_NODES, hooks)["binds"].values()) == {"n1"}


def test_a_key_puts_jobs_in_another_order() -> None:
    hooks = PluginHooks(job_order=lambda group: (group.key.endswith("old"),))
    assert [key for key in planned(TWO_JOBS, hooks)["binds"] if "new" in key]


def test_a_veto_protects_a_pod() -> None:
    assert planned(FULL, PluginHooks())["evictions"]
    assert planned(FULL, PluginHooks(veto=lambda _pod, action: action == "reclaim"))["evictions"] == []


def test_a_plugin_sees_what_is_in_use_and_who_is_there_as_the_decision_goes_on() -> None:
    seen: dict[str, tuple[int, list[str]]] = {}

    def watch(pod: PodView, node: NodeView) -> bool:
        seen[pod.key] = (node.used["cpu"], [one.key for one in node.pods])
        return True

    one_node = (
        "nodes: {n: {cpu: 4}}\nqueues: {a: {}}\nrunning: {a/j: {cpu: 1}}\npending: {a/k: {pods: 2, cpu: 1}}"
    )
    planned(one_node, PluginHooks(filter=watch))
    assert seen == {
        "default/a-k-0": (1_000, ["default/a-j-0"]),
        "default/a-k-1": (2_000, ["default/a-j-0", "default/a-k-0"]),
    }


def test_a_plugin_is_not_called_for_pods_that_it_does_not_concern() -> None:
    calls = list[str]()

    def refuse(pod: PodView, _node: NodeView) -> bool:
        calls.append(pod.key)
        return False

    both = "nodes: {n: {cpu: 4, gpu: 1}}\nqueues: {a: {}}\npending: {a/j: {cpu: 1}, a/k: {cpu: 1, gpu: 1}}"
    binds = planned(both, PluginHooks(concerns=lambda requests: "nvidia.com/gpu" in requests, filter=refuse))[
        "binds"
    ]
    assert list(binds) == ["default/a-j-0"]
    assert set(calls) == {"default/a-k-0"}
