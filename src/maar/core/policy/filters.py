"""Filters that depend on the node and the pod alone: node ready, schedulable, selector, affinity, taints."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags
from maar.core.model.affinity import NodeSelector, NodeSelectorTerm, Toleration
from maar.core.model.metadata import Requirement
from maar.core.model.taints import untolerated
from maar.core.policy.grammar import Predicates
from maar.core.policy.selectors import (
    FIELD_OPERATORS,
    HOSTNAME_LABEL,
    NAME_FIELD,
    NODE_OPERATORS,
    meets,
)
from maar.core.tables.node_columns import Coded, NodeColumns
from maar.core.tables.shapes import Labels, Shape

Clause = tuple[Flags, str]  # nodes, and the text that describes them or the others

_MOST_SHOWN: Final = 3  # values of a requirement; a clause stays short


@dataclass(frozen=True)
class ShapeFilter:
    """One filter: the nodes that it allows for a shape, and texts that describe the others.

    It depends on the node and the pod alone, not on other pods, and is applied once for all pods of a shape.
    """

    name: str
    clauses: Callable[[Shape, NodeColumns], Iterator[Clause]]  # allowed nodes [N], and a text for the others

    def __call__(self, shape: Shape, columns: NodeColumns) -> Flags:
        """The nodes that it allows. [N]"""
        mask = np.ones(len(columns), np.bool_)
        for allowed, _ in self.clauses(shape, columns):
            mask &= allowed
        return mask


@lru_cache
def shape_filters(switches: Predicates) -> tuple[ShapeFilter, ...]:
    """The enabled filters, in the order in which a reason counts the nodes that each excludes."""
    return (
        ShapeFilter("NodeReady", _ready),
        ShapeFilter("NodeSchedulable", _schedulable),
        *((_NODE_SELECTOR, _NODE_AFFINITY) if switches.node_affinity else ()),
        *((_TAINTS,) if switches.taint_toleration else ()),
    )


def allowed_by_all(shape: Shape, columns: NodeColumns, filters: Sequence[ShapeFilter]) -> Flags:
    """The nodes that all filters allow. [N]"""
    mask = np.ones(len(columns), np.bool_)
    for allows in filters:
        mask &= allows(shape, columns)
    return mask


def required_affinity(shape: Shape) -> NodeSelector | None:
    """What a shape's node affinity requires."""
    if shape.affinity is None or shape.affinity.node_affinity is None:
        return None
    return shape.affinity.node_affinity.required_during_scheduling_ignored_during_execution


def suits_new_node(shape: Shape, columns: NodeColumns) -> bool:
    """Whether a new node could have the labels that a shape requires."""
    required = required_affinity(shape)
    selector = tuple(Requirement(key=key, operator="In", values=(to,)) for key, to in shape.node_selector)
    return not any(_is_known_host(one, columns) for one in selector) and (
        required is None or may_match_new_node(required, columns)
    )


def may_match_new_node(required: NodeSelector, columns: NodeColumns) -> bool:
    """Whether a new node could match a term; a term with the name of a node matches that node only."""
    return any(
        (term.match_expressions or term.match_fields)
        and not any(_is_known_host(one, columns) for one in term.match_expressions)
        and not any(one.operator == "In" for one in term.match_fields)
        for term in required.node_selector_terms
    )


def _is_known_host(requirement: Requirement, columns: NodeColumns) -> bool:
    """Whether the requirement is a host name that nodes of the cluster have, so that no new node can."""
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
    """The nodes that match all of a term; none matches an empty one. [N]"""
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
    """The nodes all of whose taints are tolerated. [N]"""
    numbers, kinds = columns.taints
    allowed = np.array([not untolerated(tolerations, taints) for taints in kinds], np.bool_)
    return allowed[numbers]


def only_tainted(shape: Shape, columns: NodeColumns, filters: Sequence[ShapeFilter]) -> Flags:
    """The nodes that taints keep a shape off, and no other filter does. [N]"""
    others = [one for one in filters if one is not _TAINTS]
    if len(others) == len(filters):
        return np.zeros(len(columns), np.bool_)
    return allowed_by_all(shape, columns, others) & ~_TAINTS(shape, columns)


def obstacles(shape: Shape, columns: NodeColumns, filters: Sequence[ShapeFilter]) -> list[Clause]:
    """What excludes nodes for a shape: texts, each with the nodes that it is the first to exclude. [N]"""
    found, left = list[Clause](), np.ones(len(columns), np.bool_)
    for one in filters:
        for allowed, clause in one.clauses(shape, columns):
            excluded = left & ~allowed
            if excluded.any():
                found.append((excluded, clause))
                left &= allowed
    return found


def _ready(_shape: Shape, columns: NodeColumns) -> Iterator[Clause]:
    yield columns.ready, "are not ready"


def _schedulable(_shape: Shape, columns: NodeColumns) -> Iterator[Clause]:
    yield columns.usable, "are unschedulable"


def _matches_selector(shape: Shape, columns: NodeColumns) -> Iterator[Clause]:
    if selector := shape.node_selector:
        yield affine(selector, None, columns), f"do not match the node selector {_pairs(selector)}"


def _matches_affinity(shape: Shape, columns: NodeColumns) -> Iterator[Clause]:
    required = required_affinity(shape)
    if required is not None:
        yield affine((), required, columns), f"do not match the node affinity {_shown(required)}".rstrip()


def _tolerates_taints(shape: Shape, columns: NodeColumns) -> Iterator[Clause]:
    numbers, kinds = columns.taints
    for number, taints in enumerate(kinds):
        for taint in untolerated(shape.tolerations, taints)[:1]:
            yield numbers != number, f"have taint {taint}"


_NODE_SELECTOR: Final = ShapeFilter("NodeSelector", _matches_selector)
_NODE_AFFINITY: Final = ShapeFilter("NodeAffinity", _matches_affinity)
_TAINTS: Final = ShapeFilter("TaintToleration", _tolerates_taints)


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
    texts = {"In": "in", "NotIn": "not in", "Exists": "exists", "DoesNotExist": "does not exist"}
    operator = texts.get(requirement.operator, requirement.operator)
    return f"{requirement.key} {operator} ({values})" if values else f"{requirement.key} {operator}"
