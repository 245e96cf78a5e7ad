"""The scheduler configuration: Volcano's own are accepted, and refusals say where and why."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from maar.core.answers.plan.ask import plans
from maar.core.cycle.decision import ACTIONS as CYCLE_ACTIONS
from maar.core.model.past_use import Usage
from maar.core.policy.configuration import DEFAULT, BadConfigurationError, Configuration, Plugin, parse
from maar.core.policy.grammar import (
    ACTIONS,
    NOT_IN_MAAR,
    PLUGINS,
    SWITCHES,
    BinPackWeights,
    NodeOrderWeights,
    Predicates,
)
from maar.core.policy.plugin_hooks import PluginHooks
from support.fields import Fields
from support.scenario import read_cluster

BUILT_IN = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
HELM = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
CI = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: sla
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""
EVERYTHING = """
actions: "enqueue,allocate ,  backfill, preempt,reclaim, cleanup"
tiers:
- plugins:
  - {name: priority, enableTaskOrder: false}
  - {name: gang, enableJobStarving: false}
- plugins:
  - {name: overcommit, arguments: {overcommit-factor: 1.5}}
  - {name: drf, enableHierarchy: true}
  - {name: predicates, arguments: {predicate.PodAffinityEnable: false, predicate.CacheEnable: true}}
  - name: nodeorder
    arguments: {leastrequested.weight: 0, mostrequested.weight: 10, imagelocality.weight: 4}
  - name: binpack
    arguments:
      binpack.weight: 10
      binpack.cpu: 5
      binpack.resources: nvidia.com/gpu, example.com/foo
      binpack.resources.nvidia.com/gpu: 7
- plugins:
  - {name: proportion}
configurations:
- {name: cleanup, arguments: {gracePeriod: 90}}
- {name: preempt, arguments: {enableTopologyAwarePreemption: true, minCandidateNodesPercentage: 20}}
metrics: {type: prometheus, interval: 30s}
"""
SUPPORTED_ACTIONS = "Supported: enqueue, allocate, backfill, reclaim, preempt, cleanup"
SUPPORTED_PLUGINS = (
    "Supported: priority, gang, conformance, overcommit, drf, predicates, proportion, capacity, nodeorder, "
    "binpack, sla, usage"
)
SUPPORTED_BINPACK = (
    "Supported: binpack.weight, binpack.cpu, binpack.memory, binpack.resources, binpack.resources.<name>"
)
NO_EFFECT = "known, but it has no effect in Maar"
STANDS_FOR = {
    "Supported: <ACTIONS>": SUPPORTED_ACTIONS,
    "Supported: <PLUGINS>": SUPPORTED_PLUGINS,
    "Supported: <BINPACK>": SUPPORTED_BINPACK,
    "<NO EFFECT>": NO_EFFECT,
}


def cases(part: str, answer: str) -> list[tuple[str, str]]:
    """Configurations and what is said about them, with the long lists put in."""
    table = yaml.safe_load(Path(__file__).with_name("configuration_cases.yaml").read_text(encoding="utf-8"))
    reported = [(case["config"], case[answer]) for case in table[part]]
    for short, long in STANDS_FOR.items():
        reported = [(config, text.replace(short, long)) for config, text in reported]
    return reported


def read(text: str) -> Configuration:
    return parse(yaml.safe_load(text))


def plugin(text: str) -> str:
    """A configuration with one plugin."""
    return f"tiers: [{{plugins: [{text}]}}]"


def argument(name: str, key: str, value: str) -> str:
    """A configuration with one plugin and one argument."""
    return plugin(f"{{name: {name}, arguments: {{{key}: {value}}}}}")


def problems(text: str) -> list[str]:
    with pytest.raises(BadConfigurationError) as caught:
        read(text)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def silent(_: Mapping[str, object]) -> PluginHooks:
    return PluginHooks()


@pytest.mark.parametrize(
    "text", ["", "{}", "actions:\ntiers:\nconfigurations:\nmetrics:", "configurations: []"]
)
def test_nothing_is_the_default(text: str) -> None:
    assert read(text) == DEFAULT


def test_the_default_has_every_action_and_every_plugin_in_its_usual_tier() -> None:
    assert tuple(CYCLE_ACTIONS) == ACTIONS  # each has a function of its name
    assert DEFAULT.actions == ("enqueue", "allocate", "backfill", "reclaim", "preempt", "cleanup") == ACTIONS
    assert [(one.name, one.tier) for one in DEFAULT.plugins] == [
        ("priority", 1), ("gang", 1), ("conformance", 1), ("overcommit", 2), ("drf", 2), ("predicates", 2),
        ("proportion", 2), ("nodeorder", 2), ("binpack", 2),
    ]  # fmt: skip
    assert {one.name for one in DEFAULT.plugins} == PLUGINS.keys() - {"sla", "usage", "capacity"}
    assert DEFAULT.sla is None
    assert DEFAULT.usage is None
    assert (DEFAULT.overcommit_factor, DEFAULT.grace_seconds) == (Fraction("1.2"), 60)
    assert (DEFAULT.binpack, DEFAULT.node_order) == (BinPackWeights(), NodeOrderWeights(least_requested=0))
    assert DEFAULT.predicates == Predicates()
    assert DEFAULT.warnings == ()


def test_volcanos_built_in_configuration_is_accepted() -> None:
    configuration = read(BUILT_IN)
    assert configuration.actions == ("enqueue", "allocate", "backfill")
    assert [one.name for one in configuration.plugins] == [one.name for one in DEFAULT.plugins[:-1]]
    assert configuration.node_order == NodeOrderWeights()
    assert configuration.warnings == ()
    assert ("binpack", "enableNodeOrder") not in configuration.enabled


def test_volcanos_helm_configuration_is_accepted() -> None:
    configuration = read(HELM)
    assert configuration.plugins[1] == Plugin("gang", 1, {"enablePreemptable": False})
    assert configuration.warnings == (f"tiers[0].plugins[1].enablePreemptable: {NO_EFFECT}",)
    assert ("drf", "enablePreemptable") not in configuration.enabled
    assert ("priority", "enablePreemptable") in configuration.enabled


def left_out(place: str, name: str) -> str:
    what = f"Maar does not have Volcano's plugin {name}"
    return f"{place}: {what}: it is left out, with its arguments and switches"


def test_of_volcanos_ci_configuration_the_plugins_that_maar_does_not_have_are_left_out() -> None:
    configuration = read(CI)
    assert configuration.actions == ("enqueue", "allocate", "preempt", "reclaim", "backfill")
    usual = [one.name for one in DEFAULT.plugins]
    assert [one.name for one in configuration.plugins] == [*usual[:3], "sla", *usual[3:]]
    assert configuration.warnings == (left_out("tiers[1].plugins[6]", "network-topology-aware"),)
    provided = parse(yaml.safe_load(CI), {"network-topology-aware": silent})
    assert [one.name for one in provided.plugins if one.hooks] == ["network-topology-aware"]
    assert provided.warnings == ()


@pytest.mark.parametrize("name", sorted(NOT_IN_MAAR))
def test_a_plugin_that_only_volcano_has_is_left_out_with_whatever_is_set_for_it(name: str) -> None:
    switches = ", ".join(f"{switch}: 'false'" for switch in SWITCHES)
    arguments = "{weight: 5, hypernode.binpack.cpu: 1, anything: {at: [all]}}"
    configuration = read(plugin(f"{{name: {name}, {switches}, arguments: {arguments}}}"))
    assert configuration.plugins == ()
    assert left_out("tiers[0].plugins[0]", name) in configuration.warnings


def test_capacity_is_a_name_for_proportion() -> None:
    configuration = read(plugin("{name: capacity, enableHierarchy: true, enabledAllocatable: false}"))
    assert configuration.warnings == ()
    assert [one.name for one in configuration.plugins] == ["proportion"]
    assert ("proportion", "enabledAllocatable") not in configuration.enabled
    assert ("proportion", "enableQueueOrder") in configuration.enabled


def test_arguments_of_capacity_are_known_and_have_no_effect() -> None:
    configuration = read(
        plugin("{name: capacity, arguments: {ancestorReclaimLevel: 2}, enableHierarchy: false}")
    )
    assert set(configuration.warnings) == {
        f"tiers[0].plugins[0].arguments.ancestorReclaimLevel: {NO_EFFECT}",
        f"tiers[0].plugins[0].enableHierarchy: {NO_EFFECT}",
    }
    (problem,) = problems(plugin("{name: capacity, arguments: {ancestorReclaimLevels: 2}}"))
    assert "ancestorReclaimLevel" in problem


def test_beside_proportion_capacity_says_nothing() -> None:
    both = read("tiers: [{plugins: [{name: capacity}]}, {plugins: [{name: proportion}]}]")
    assert [(one.name, one.tier) for one in both.plugins] == [("proportion", 2)]
    (warning,) = both.warnings
    assert warning == (
        "tiers: capacity and proportion are one plugin in Maar: what tiers[1].plugins[0] says of it counts"
    )


def test_capacity_beside_drf_with_hierarchy_is_accepted_as_in_volcano() -> None:
    both = read("tiers: [{plugins: [{name: capacity}, {name: drf, enableHierarchy: true}]}]")
    assert [one.name for one in both.plugins] == ["proportion", "drf"]


def test_a_misspelt_switch_is_refused_with_what_was_meant() -> None:
    (problem,) = problems(plugin("{name: proportion, enableAllocatable: true}"))
    assert problem.startswith(
        "tiers[0].plugins[0].enableAllocatable: unknown key 'enableAllocatable': "
        "did you mean enabledAllocatable? Supported: name, arguments, enableJobOrder, "
    )
    assert all(switch in problem for switch in SWITCHES)


def test_all_problems_are_reported_at_once() -> None:
    tiers = "[{plugins: [{name: quotas}, {name: gang, enableJobReady: x}]}]"
    assert problems(f"{{actions: elect, tiers: {tiers}, metrics: 3}}") == [
        f"actions: unknown action 'elect'. {SUPPORTED_ACTIONS}",
        f"tiers[0].plugins[0].name: unknown plugin 'quotas'. {SUPPORTED_PLUGINS}",
        "tiers[0].plugins[1].enableJobReady: 'x' is not true or false",
        "metrics: 3 is not a map",
    ]


@pytest.mark.parametrize(("config", "warning"), cases("warned", "warning"))
def test_what_has_no_effect_is_accepted_with_a_warning(config: str, warning: str) -> None:
    assert read(config).warnings == (warning,)


def test_past_use_is_off_by_default_and_its_arguments_are_typed() -> None:
    assert read(plugin("{name: usage}")).usage == Usage(half_life_s=86_400.0, strength=Fraction(1))
    arguments = "{halfLife: 90m, strength: '0.25'}"
    assert read(plugin(f"{{name: usage, arguments: {arguments}}}")).usage == Usage(5400.0, Fraction(1, 4))


def test_the_arguments_of_volcanos_usage_are_accepted_with_warnings() -> None:
    arguments = "{usage.weight: 5, cpu.weight: 1, thresholds: {cpu: 80}, usageWeight.cpu: 1}"
    configuration = read(plugin(f"{{name: usage, arguments: {arguments}}}"))
    assert configuration.usage == Usage()
    *ignored, last = configuration.warnings
    path = "tiers[0].plugins[0]"
    names = ("usage.weight", "cpu.weight", "thresholds", "usageWeight.cpu")
    assert ignored == [f"{path}.arguments.{name}: {NO_EFFECT}" for name in names]
    assert last.startswith(f"{path}: Volcano's usage places pods by the load of nodes; Maar's lets queues")


def test_hierarchy_and_proportion_in_different_tiers_are_accepted_as_in_volcano() -> None:
    text = "tiers: [{plugins: [{name: drf, enableHierarchy: true}]}, {plugins: [{name: proportion}]}]"
    assert [one.tier for one in read(text).plugins] == [1, 2]


def test_without_tiers_every_plugin_is_on_and_with_tiers_only_those() -> None:
    assert read("actions: allocate").plugins == DEFAULT.plugins
    assert read(plugin("{name: gang}")).plugins == (Plugin("gang", 1),)


def test_an_argument_that_is_null_is_unset() -> None:
    assert read(argument("binpack", "binpack.weight", "null")) == read(plugin("{name: binpack}"))


def test_the_weight_of_cpu_is_set_in_one_place_only() -> None:
    configuration = read(
        plugin("{name: binpack, arguments: {binpack.resources: 'cpu', binpack.resources.cpu: 3}}")
    )
    assert configuration.binpack.resources == {"cpu": 1, "memory": 1}
    assert [warning.split(": ")[:2] for warning in configuration.warnings] == [
        ["tiers[0].plugins[0].arguments.binpack.resources", "cpu has no effect there"],
        ["tiers[0].plugins[0].arguments.binpack.resources.cpu", "no effect"],
    ]


class Noted(frozenset[tuple[str, str]]):
    """Switches that are on, which note those that a cycle reads."""

    read: ClassVar[set[tuple[str, str]]] = set()

    def __contains__(self, switch: object) -> bool:
        """Note it."""
        assert isinstance(switch, tuple)
        self.read.add(switch)
        return super().__contains__(switch)


class NotingConfiguration(Configuration):
    """Notes which switches a cycle reads."""

    @cached_property
    def enabled(self) -> frozenset[tuple[str, str]]:
        """All that are on."""
        return Noted(super().enabled)


def test_every_switch_that_brings_no_warning_is_asked_for() -> None:
    """Whoever sets a switch that no decision reads is warned of it."""
    text = """
        nodes: {n: {cpu: 4}}
        queues: {a: {}, b: {}}
        running: {b/j: {pods: 4, cpu: 1, waiting: 1}}
        pending: {a/j: {cpu: 1, priority: 1}, a/k: {cpu: 1}, b/k: {cpu: 1, priority: 5}, a/l: {}}
        """
    with Fields(yaml.safe_load(text), "a cluster") as fields:
        cluster = read_cluster(fields)
    noting = NotingConfiguration(ACTIONS, DEFAULT.plugins)
    assert list(plans(cluster.objects(), noting, cycles=2))
    known = {
        (plugin.stands_for or name, switch)
        for name, plugin in PLUGINS.items()
        for switch in plugin.effective_switches
    }
    assert known - Noted.read == set()


GANGS = """
actions: "enqueue, allocate, gangpreempt, gangreclaim, backfill, shuffle"
tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: proportion}]}]
configurations:
- {name: gangpreempt, arguments: {maxDomains: 8, allowWholeBundle: "true"}}
- {name: shuffle, arguments: {anything: 1}}
"""


def test_actions_of_volcanos_that_maar_has_under_other_names_or_not_at_all() -> None:
    found = read(GANGS)
    assert found.actions == ("enqueue", "allocate", "preempt", "reclaim", "backfill")
    assert found.warnings == (
        "actions: Maar does not have Volcano's action shuffle: it is left out",
        f"configurations[0].arguments.maxDomains: {NO_EFFECT}",
        f"configurations[0].arguments.allowWholeBundle: {NO_EFFECT}",
        "configurations[1]: Maar does not have Volcano's action shuffle: it is left out, with its arguments",
    )
    both = read("{actions: 'gangpreempt, preempt, reclaim, gangreclaim, gangreclaim'}")
    assert both.actions == ("preempt", "reclaim")
    assert read("{actions: 'gangreclaim, gangreclaim, allocate'}").actions == ("reclaim", "allocate")
