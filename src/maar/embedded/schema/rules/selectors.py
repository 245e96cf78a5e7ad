"""Rules for selectors: of objects by their labels, of nodes by labels and fields."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import forbidden, invalid, required, violations
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.metadata import labels

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")
_WITH_A_NUMBER: Final = ("Gt", "Lt")
_NOT_AN_OPERATOR: Final = "not a valid selector operator"


def label_selector(selector: Fields | None, field: str) -> Iterator[Cause]:
    """A selector by labels."""
    if not selector:
        return
    yield from labels(selector.get("matchLabels"), f"{field}.matchLabels")
    for number, requirement in enumerate(selector.get("matchExpressions") or ()):
        path = f"{field}.matchExpressions[{number}]"
        yield from _operator(requirement, path, numbers=False)
        yield from violations(
            f"{path}.key", requirement.get("key", ""), names.qualified(requirement.get("key", ""))
        )
        for at, value in enumerate(requirement.get("values") or ()):
            yield from violations(f"{path}.values[{at}]", value, names.value(value))


def node_selector(selector: Fields, field: str) -> Iterator[Cause]:
    """A selector of nodes, of which one term must hold."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{field}.nodeSelectorTerms", "must have at least one node selector term")
    for position, term in enumerate(terms):
        yield from node_selector_term(term, f"{field}.nodeSelectorTerms[{position}]")


def node_selector_term(term: Fields, field: str) -> Iterator[Cause]:
    """Conditions on one node that must all hold."""
    for number, requirement in enumerate(term.get("matchExpressions") or ()):
        path = f"{field}.matchExpressions[{number}]"
        yield from _operator(requirement, path, numbers=True)
        yield from violations(
            f"{path}.key", requirement.get("key", ""), names.qualified(requirement.get("key", ""))
        )
    for number, requirement in enumerate(term.get("matchFields") or ()):
        path = f"{field}.matchFields[{number}]"
        if requirement.get("operator") not in _WITH_VALUES:
            yield invalid(f"{path}.operator", requirement.get("operator", ""), _NOT_AN_OPERATOR)
        elif len(requirement.get("values") or ()) != 1:
            why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield required(f"{path}.values", why)
        if requirement.get("key") != "metadata.name":
            yield invalid(f"{path}.key", requirement.get("key", ""), "not a valid field selector key")


def _operator(requirement: Fields, field: str, *, numbers: bool) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in _WITH_VALUES:
        if not values:
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES:
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{field}.values", why)
    elif numbers and operator in _WITH_A_NUMBER:
        if len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{field}.values", why)
    else:
        yield invalid(f"{field}.operator", operator, _NOT_AN_OPERATOR)
