"""Roles and domains: label selectors, entries of `subGroupPolicy`, HyperNodes and label domains.

The product does not have these yet.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from reference.objects import Domain, Node, Policy, Subgroup, Topology


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A label selector; none matches everything, as in Volcano."""
    selector = selector or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for term in selector.get("matchExpressions") or []:
        key, values = term["key"], term.get("values") or []
        held = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not held[term["operator"]]:
            return False
    return True


def subgroup_of(labels: Mapping[str, str], policies: Iterable[Policy]) -> Subgroup | None:
    """The first policy that matches a pod; one for whose keys the pod has no value does not match."""
    for position, policy in enumerate(policies):
        values = tuple(labels.get(key, "") for key in policy.keys)
        if matches(policy.selector, labels) and all(values):
            return (position, values)
    return None


def read_topology(spec: Mapping[str, Any] | None, tier_names: Mapping[str, int]) -> Topology | None:
    """The `mode` is hard unless soft; the tier by number or by name (an unknown name: no tier)."""
    if spec is None:
        return None
    name = spec.get("highestTierName")
    return Topology(
        spec.get("mode", "hard") != "soft",
        tier_names.get(name, 0) if name else spec.get("highestTierAllowed"),
    )


def read_policy(thing: Mapping[str, Any], tier_names: Mapping[str, int]) -> Policy:
    """One entry of `subGroupPolicy`."""
    size, least = thing.get("subGroupSize"), thing.get("minSubGroups")
    return Policy(
        thing.get("labelSelector"),
        tuple(thing.get("matchLabelKeys") or ()),
        1 if size is None else size,
        least or 0,
        read_topology(thing.get("networkTopology"), tier_names),
    )


def members(
    name: str, hypernodes: Mapping[str, Mapping[str, Any]], nodes: Mapping[str, Node], seen: frozenset[str]
) -> frozenset[str]:
    """The nodes of a HyperNode, those of its HyperNodes included; in a circle each counts once."""
    found: set[str] = set()
    for member in hypernodes[name].get("members") or []:
        selector, kind = member["selector"], hypernodes if member["type"] == "HyperNode" else nodes
        if "exactMatch" in selector:
            named = {selector["exactMatch"]["name"]} & kind.keys()
        elif "regexMatch" in selector:
            named = {other for other in kind if re.search(selector["regexMatch"]["pattern"], other)}
        else:
            named = (
                {node.name for node in nodes.values() if matches(selector["labelMatch"], node.labels)}
                if kind is nodes
                else set()
            )
        for other in named:
            if kind is nodes:
                found.add(other)
            elif other not in seen:
                found |= members(other, hypernodes, nodes, seen | {other})
    return frozenset(found)


def label_domains(labels: list[str], nodes: Mapping[str, Node]) -> list[Domain]:
    """Tier n: nodes with the same values of the nth label and all after it, nearest first."""
    result = []
    for tier in range(1, len(labels) + 1):
        there: dict[tuple[str, ...], set[str]] = {}
        for node in nodes.values():
            if all(label in node.labels for label in labels[tier - 1 :]):
                there.setdefault(
                    tuple(node.labels[label] for label in reversed(labels[tier - 1 :])), set()
                ).add(node.name)
        result += [Domain(tier, "/".join(values), frozenset(names)) for values, names in there.items()]
    return result
