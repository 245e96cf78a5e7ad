"""Which nodes a shape may go to, as far as only the node and the pod itself matter."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags
from maar.core.model.affinity import NodeSelector, NodeSelectorTerm, Toleration
from maar.core.model.metadata import Requirement
from maar.core.model.taints import untolerated
from maar.core.policy.columns import Coded, NodeColumns
from maar.core.policy.grammar import Predicates
from maar.core.policy.selectors import (
    FIELD_OPERATORS,
    HOSTNAME_LABEL,
    NAME_FIELD,
    NODE_OPERATORS,
    match_selector,
    meets,
)
from maar.core.tables.rows import NodeRow
from maar.core.tables.shapes import Labels, Shape

__all__ = [
    "Predicates",
    "affine",
    "match_selector",
    "matching_term",
    "may_match_new_node",
    "obstacles",
    "required_affinity",
    "static_mask",
    "suits_new_node",
    "tolerated",
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


def suits_new_node(shape: Shape, nodes: Sequence[NodeRow]) -> bool:
    """Whether a node that is yet to come could have the labels that a shape requires."""
    columns, required = NodeColumns.of(nodes), required_affinity(shape)
    selector = tuple(Requirement(key=key, operator="In", values=(to,)) for key, to in shape.node_selector)
    return not any(_is_taken(one, columns) for one in selector) and (
        required is None or may_match_new_node(required, columns)
    )


def may_match_new_node(required: NodeSelector, columns: NodeColumns) -> bool:
    """Whether a node that is yet to come could match a term: one that names a node is for that node."""
    return any(
        (term.match_expressions or term.match_fields)
        and not any(_is_taken(one, columns) for one in term.match_expressions)
        and not any(one.operator == "In" for one in term.match_fields)
        for term in required.node_selector_terms
    )


def _is_taken(requirement: Requirement, columns: NodeColumns) -> bool:
    """Whether only nodes that are there already can have the host name that is required."""
    known = columns.label(HOSTNAME_LABEL).code_of if requirement.key == HOSTNAME_LABEL else {}
    return requirement.operator == "In" and all(value in known for value in requirement.values)


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


def obstacles(shape: Shape, nodes: Sequence[NodeRow], switches: Predicates) -> list[tuple[Flags, str]]:
    """What keeps a shape off nodes, as clauses, each with the nodes that it is the first to exclude. [N]"""
    columns, found = NodeColumns.of(nodes), list[tuple[Flags, str]]()
    left = np.ones(len(columns), np.bool_)
    for allowed, clause in _clauses(shape, columns, switches):
        excluded = left & ~allowed
        if excluded.any():
            found.append((excluded, clause))
            left &= allowed
    return found


def _clauses(shape: Shape, columns: NodeColumns, switches: Predicates) -> Iterator[tuple[Flags, str]]:
    """The nodes that each constraint allows, and what to say of the others."""
    yield columns.ready, "are not ready"
    yield columns.usable, "are unschedulable"
    if switches.node_affinity:
        selector = shape.node_selector
        yield affine(selector, None, columns), f"do not match the node selector {_pairs(selector)}"
        required = required_affinity(shape)
        if required is not None:
            allowed = affine((), required, columns)
            yield allowed, f"do not match the node affinity {_shown(required)}".rstrip()
    if switches.taint_toleration:
        numbers, kinds = columns.taints
        for number, taints in enumerate(kinds):
            for taint in untolerated(shape.tolerations, taints)[:1]:
                value = f"={taint.value}" if taint.value else ""
                yield numbers != number, f"have taint {taint.key}{value}:{taint.effect}"


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
