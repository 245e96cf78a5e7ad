"""Which nodes a shape may go to, as far as only the node and the pod itself matter."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags
from maar.core.model.affinity import NodeSelector, NodeSelectorTerm, Toleration
from maar.core.model.metadata import Requirement
from maar.core.policy.columns import Coded, NodeColumns
from maar.core.policy.grammar import Predicates
from maar.core.policy.selectors import (
    FIELD_OPERATORS,
    NAME_FIELD,
    NODE_OPERATORS,
    match_node_selector,
    match_selector,
    meets,
    untolerated,
)
from maar.core.tables.rows import NodeRow
from maar.core.tables.shapes import Labels, Shape

__all__ = [
    "Predicates",
    "affine",
    "match_node_selector",
    "match_selector",
    "matching_term",
    "required_affinity",
    "static_mask",
    "tolerated",
    "why_not",
]

_MOST_SHOWN: Final = 3  # values of a requirement; a clause stays short


def static_mask(shape: Shape, nodes: Sequence[NodeRow], switches: Predicates) -> Flags:
    """The nodes that are usable and that selectors, affinity and taints allow. [N]

    Many shapes are filtered faster over the same `NodeColumns`.
    """
    columns = NodeColumns.of(nodes)
    mask = columns.usable.copy()
    if switches.node_affinity:
        mask &= affine(shape.node_selector, required_affinity(shape), columns)
    if switches.taint_toleration:
        mask &= tolerated(shape.tolerations, columns)
    return mask


def required_affinity(shape: Shape) -> NodeSelector | None:
    """What a shape's node affinity requires."""
    if shape.affinity is None or shape.affinity.node_affinity is None:
        return None
    return shape.affinity.node_affinity.required_during_scheduling_ignored_during_execution


def affine(selector: Labels, required: NodeSelector | None, columns: NodeColumns) -> Flags:
    """The nodes that a node selector and a required node affinity allow. [N]"""
    mask = np.ones(len(columns), np.bool_)
    for key, value in selector:
        mask &= _meeting(Requirement(key=key, operator="In", values=(value,)), columns.label(key))
    if required is not None:
        anywhere = np.zeros(len(columns), np.bool_)
        for term in required.node_selector_terms:
            anywhere |= matching_term(term, columns)
        mask &= anywhere
    return mask


def matching_term(term: NodeSelectorTerm, columns: NodeColumns) -> Flags:
    """The nodes that meet everything a term asks; none meets an empty one. [N]"""
    mask = np.full(len(columns), bool(term.match_expressions or term.match_fields))
    for requirement in term.match_expressions:
        mask &= _meeting(requirement, columns.label(requirement.key))
    for requirement in term.match_fields:
        if requirement.key == NAME_FIELD:
            mask &= _meeting(requirement, columns.names, FIELD_OPERATORS)
        else:
            mask[:] = False
    return mask


def tolerated(tolerations: tuple[Toleration, ...], columns: NodeColumns) -> Flags:
    """The nodes without a taint that keeps the pod out. [N]"""
    numbers, kinds = columns.taints
    allowed = np.array([not untolerated(tolerations, taints) for taints in kinds], np.bool_)
    return allowed[numbers]


def why_not(shape: Shape, node: NodeRow, switches: Predicates) -> str:
    """What keeps a shape off a node, as a clause; empty where nothing does."""
    if not node.is_ready:
        return "node(s) were not ready"
    if not node.is_schedulable:
        return "node(s) were unschedulable"
    if switches.node_affinity:
        if any(node.labels.get(key) != value for key, value in shape.node_selector):
            return f"node(s) did not match the node selector {_pairs(shape.node_selector)}"
        required = required_affinity(shape)
        if required is not None and not match_node_selector(required, node.labels, node.name):
            return f"node(s) did not match the node affinity {_shown(required)}".rstrip()
    if switches.taint_toleration:
        for taint in untolerated(shape.tolerations, node.taints):
            value = f"={taint.value}" if taint.value else ""
            return f"node(s) had untolerated taint {taint.key}{value}:{taint.effect}"
    return ""


def _meeting(requirement: Requirement, column: Coded, operators: frozenset[str] = NODE_OPERATORS) -> Flags:
    """The nodes that meet a requirement: decided once per distinct value. [N]"""
    if requirement.operator in ("In", "NotIn"):
        named = [column.code_of[value] for value in requirement.values if value in column.code_of]
        met = np.full(column.missing + 1, requirement.operator == "NotIn")  # [D + 1]
        met[named] = requirement.operator == "In"
    else:
        met = np.array([meets(requirement, value, operators) for value in (*column.code_of, None)], np.bool_)
    return met[column.codes]


def _pairs(labels: Labels) -> str:
    return ",".join(f"{key}={value}" for key, value in labels)


def _shown(selector: NodeSelector) -> str:
    terms = selector.node_selector_terms
    return " or ".join(
        " and ".join(_clause(one) for one in (*term.match_expressions, *term.match_fields)) for term in terms
    )


def _clause(requirement: Requirement) -> str:
    values = ", ".join(requirement.values[:_MOST_SHOWN])
    if len(requirement.values) > _MOST_SHOWN:
        values += ", ..."
    words = {"In": "in", "NotIn": "not in", "Exists": "exists", "DoesNotExist": "does not exist"}
    operator = words.get(requirement.operator, requirement.operator)
    return f"{requirement.key} {operator} ({values})" if values else f"{requirement.key} {operator}"
