"""A scheduler configuration as plain data again, in the grammar that it was read from."""

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from maar.apps.plugins import find_plugins
from maar.core.policy.configuration import Configuration, Plugin, parse
from maar.core.policy.grammar import GRACE

_EXACT: Final = Context(prec=200)  # more digits than a configuration can hold


def as_document(configuration: Configuration) -> dict[str, object]:
    """Write a configuration so that reading it gives the same one."""
    tiers: list[list[dict[str, object]]] = []
    for plugin in configuration.plugins:
        tiers += [[] for _ in range(plugin.tier - len(tiers))]
        tiers[plugin.tier - 1].append(_plugin(plugin))
    return {
        "actions": ", ".join(configuration.actions),
        "tiers": [{"plugins": plugins} for plugins in tiers],
        "configurations": [{"name": "cleanup", "arguments": {GRACE: configuration.grace_seconds}}],
    }


def from_recorded(document: Mapping[str, object]) -> Configuration:
    """Read a configuration that a scheduler has written down, with the plugins that are installed here."""
    return parse(document, find_plugins())


def _plugin(plugin: Plugin) -> dict[str, object]:
    arguments = {name: _value(value) for name, value in plugin.arguments.items()}
    return {"name": plugin.name, **plugin.switches, "arguments": arguments}


def _value(value: object) -> object:
    if isinstance(value, Fraction):
        return str(_EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return ", ".join(value) if isinstance(value, tuple) else value
