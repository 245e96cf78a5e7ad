"""The command of the reference model, and what it has and the engine has not: no law compares that."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from properties.cluster_manifests import NOW, GroupPlan, ago, node, pod_group, pods_of
from reference import Amounts, Claim, Configuration, Places, fair_shares, plan, read_cluster

TESTS = Path(__file__).parents[1]
RACKS = [node(f"n{number}", {"cpu": 2000, "pods": 9}, {"rack": "ab"[number % 2]}) for number in range(4)]
BY_RACK = """
tiers:
- plugins:
  - {name: gang}
  - {name: proportion}
  - {name: network-topology-aware, arguments: {labels: rack}}
"""
GANG = GroupPlan(name="gang", namespace="alpha", request={"cpu": 1000}, size=4, min_member=4)


def bound(documents: list[dict[str, Any]]) -> Places:
    """Which pods one cycle binds where."""
    [cycle] = plan(read_cluster(documents), Configuration.read(BY_RACK), NOW, 1, resubmit=False)
    binds: Places = cycle["binds"]
    return binds


def test_the_command_prints_the_plan_of_each_cycle(tmp_path: Path) -> None:
    documents = [*RACKS, pod_group(GANG, "Pending"), *pods_of(GANG)]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    command = [sys.executable, "-m", "reference", "plan", "-f", str(file), "--now", ago(0), "--cycles", "2"]
    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(TESTS)}, capture_output=True, text=True, check=True
    )
    first, second = json.loads(run.stdout)["cycles"]
    assert len(first["binds"]) == 4
    assert not second["binds"]
    assert second["podGroups"]["alpha/gang"]["phase"] == "Running"


def test_a_group_with_a_hard_topology_lies_in_one_domain() -> None:
    group = pod_group(GANG, "Pending")
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    binds = bound([*RACKS, group, *pods_of(GANG)])
    assert set(binds.values()) in ({"n0", "n2"}, {"n1", "n3"})
    wider = GroupPlan(name="gang", namespace="alpha", request={"cpu": 1000}, size=5, min_member=5)
    group = pod_group(wider, "Pending")
    assert len(bound([*RACKS, group, *pods_of(wider)])) == 5
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    assert not bound([*RACKS, group, *pods_of(wider)])


def test_subgroups_start_whole() -> None:
    group, pods = pod_group(GANG, "Pending"), pods_of(GANG)
    group["spec"]["minMember"] = 2
    group["spec"]["subGroupPolicy"] = [
        {
            "name": "parts",
            "labelSelector": {},
            "matchLabelKeys": ["part"],
            "subGroupSize": 2,
            "minSubGroups": 1,
        }
    ]
    for pod, part in zip(pods, "xyyz", strict=True):
        pod["metadata"]["labels"] = {"part": part}
    whole = {f"alpha/{pod['metadata']['name']}" for pod in pods[1:3]}
    assert set(bound([*RACKS, group, *pods])) == whole


def test_a_soft_guarantee_holds_against_weights_but_not_against_guarantees() -> None:
    def deserved(guarantee: int) -> dict[str, int]:
        none, request = Amounts(), Amounts({"cpu": Fraction(10)})
        hard, soft = Amounts({"cpu": Fraction(guarantee)}), Amounts({"cpu": Fraction(6)})
        claims = {
            "root": Claim("root", 1, none, none, none, none),
            "a": Claim("root", 1, none, none, none, request, soft),
            "b": Claim("root", 9, hard, none, none, request),
        }
        shares = fair_shares(claims, Amounts({"cpu": Fraction(10)}))
        return {name: int(amounts["cpu"]) for name, amounts in shares.deserved.items()}

    assert deserved(0) == {"root": 10, "a": 6, "b": 4}
    assert deserved(8) == {"root": 10, "a": 2, "b": 8}
