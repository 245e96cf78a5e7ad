"""Amounts by name as Kubernetes adds them up: exact, and written as the first one was."""

from collections.abc import Iterable, Mapping
from typing import Final

from maar.core.model.quantity import BadQuantityError, Quantity, parse

Amounts = dict[str, Quantity]

NOTHING: Final = Quantity(0)
ONE: Final = parse("1")


def quantity(value: object) -> Quantity:
    """Read a quantity; what is none counts nothing, and the rules of its kind refuse it."""
    try:
        return parse(str(value))
    except BadQuantityError:
        return NOTHING


def amounts(quantities: Mapping[str, object]) -> Amounts:
    """Read a resource list."""
    return {name: quantity(value) for name, value in quantities.items()}


def plus(one: Quantity, other: Quantity) -> Quantity:
    """Add; zero has no notation of its own."""
    return Quantity(one.nanos + other.nanos, one.notation if one.nanos else other.notation)


def minus(one: Quantity, other: Quantity) -> Quantity:
    """Take away."""
    return Quantity(one.nanos - other.nanos, one.notation if one.nanos else other.notation)


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add to a total, name by name."""
    for name, amount in more.items():
        total[name] = plus(total[name], amount) if name in total else amount


def raise_to(total: Amounts, least: Mapping[str, Quantity]) -> None:
    """Let a total be at least so much, name by name."""
    for name, amount in least.items():
        if name not in total or total[name].nanos < amount.nanos:
            total[name] = amount


def shown(total: Mapping[str, Quantity], names: Iterable[str]) -> str:
    """Write some amounts as messages have them: cpu=2,pods=1."""
    return ",".join(f"{name}={total.get(name, NOTHING)}" for name in sorted(names))
