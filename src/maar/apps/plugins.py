"""Finds the plugins that other installed distributions provide."""

from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from maar.core.job_plugins.plugin import JobPlugin
from maar.core.job_plugins.registry import JobPlugins, UnavailablePlugin
from maar.core.policy.plugin_hooks import PluginFactory, PluginHooks

GROUP: Final = "maar.plugins"
JOB_GROUP: Final = "maar.job_plugins"

_METHODS: Final = ("problems", "objects", "change_pod")


def find_plugins() -> dict[str, PluginFactory]:
    """Find plugins by name; each is loaded when it is first made, so a broken one affects no other."""
    return {name: partial(_make, providers) for name, providers in _providers(GROUP).items()}


def find_job_plugins() -> JobPlugins:
    """Maar's job plugins and those found; jobs that name a broken one are refused with the reason."""
    return JobPlugins.of(_job_plugin(name, providers) for name, providers in _providers(JOB_GROUP).items())


def _providers(group: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry_point in entry_points(group=group):
        found.setdefault(entry_point.name, []).append(entry_point)
    return dict(sorted(found.items()))


def _make(providers: list[EntryPoint], arguments: Mapping[str, object]) -> PluginHooks:
    """Load a plugin and make it."""
    factory: PluginFactory = _only(providers).load()
    return factory(arguments)


def _job_plugin(name: str, providers: list[EntryPoint]) -> JobPlugin:
    """Load the class of a job plugin and make the one that there is."""
    try:
        plugin: JobPlugin = _only(providers).load()()
        called = plugin.name
    except (Exception, SystemExit) as error:  # noqa: BLE001  it may fail in any way, and harms only its jobs
        return UnavailablePlugin(name, f"{type(error).__name__}: {error}")
    if called != name:
        return UnavailablePlugin(name, f"its own name is {called!r}, and must be that of its entry point")
    lacking = [method for method in _METHODS if not callable(getattr(plugin, method, None))]
    return UnavailablePlugin(name, f"it has no method {', '.join(lacking)}") if lacking else plugin


def _only(providers: list[EntryPoint]) -> EntryPoint:
    """The provider of a plugin; a name that two distributions provide is refused."""
    if len(providers) > 1:
        values = ", ".join(sorted(provider.value for provider in providers))
        raise ImportError(f"more than one distribution provides it: {values}; uninstall all but one")
    return providers[0]
