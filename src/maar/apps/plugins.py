"""Finds the plugins that other installed distributions provide."""

from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from maar.core.policy.plugin_hooks import PluginFactory, PluginHooks

GROUP: Final = "maar.plugins"


def find_plugins() -> dict[str, PluginFactory]:
    """Find plugins by name; each is loaded when it is first made, so a broken one affects no other."""
    found: dict[str, list[EntryPoint]] = {}
    for entry_point in entry_points(group=GROUP):
        found.setdefault(entry_point.name, []).append(entry_point)
    return {name: partial(_make, providers) for name, providers in sorted(found.items())}


def _make(providers: list[EntryPoint], arguments: Mapping[str, object]) -> PluginHooks:
    """Load a plugin and make it; a name that two distributions provide is refused."""
    if len(providers) > 1:
        values = ", ".join(sorted(provider.value for provider in providers))
        raise ImportError(f"more than one distribution provides it: {values}; uninstall all but one")
    factory: PluginFactory = providers[0].load()
    return factory(arguments)
