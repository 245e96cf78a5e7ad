"""The scheduler configuration in Volcano's grammar: parsed once, strictly, all problems at once."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from maar.core.model.resources import CPU, MEMORY
from maar.core.policy.configured import Configuration, Plugin
from maar.core.policy.grammar import (
    ACTION_ARGUMENTS,
    ACTIONS,
    ACTIONS_BY_NAME,
    ACTIONS_NOT_IN_MAAR,
    ANY_NAME,
    BINPACK_RESOURCES,
    FACTOR,
    GRACE,
    HALF_LIFE,
    NOT_IN_MAAR,
    PLUGINS,
    STRENGTH,
    SWITCHES,
    THIRD_PARTY_SWITCHES,
    USUAL_FACTOR,
    USUAL_GRACE_SECONDS,
    USUAL_TIERS,
    Argument,
)
from maar.core.policy.plugin_hooks import PluginFactory, PluginHooks, checked
from maar.core.policy.values import Entry, Remarks, boolean, scalar, text, yaml_text

__all__ = ["DEFAULT", "BadConfigurationError", "Configuration", "Plugin", "parse"]

_NO_EFFECT: Final = "known, but it has no effect in Maar"
_NOT_VOLCANOS_USAGE: Final = (
    "Volcano's usage places pods by the load of nodes; Maar's lets queues and namespaces that used more than "
    "their part while others waited come later. Leave it out where only the first was wanted"
)
_OTHER_NAMES: Final = {name: one.stands_for for name, one in PLUGINS.items() if one.stands_for}
_ALWAYS_PACKED: Final = frozenset({CPU, MEMORY})
_NO_PROVIDERS: Final[Mapping[str, PluginFactory]] = MappingProxyType({})
_USUAL_ARGUMENTS: Final = {
    "nodeorder": {"leastrequested.weight": 0}
}  # else it would cancel the score of binpack
_USUAL_TIERS: Final = [
    {"plugins": [{"name": name, "arguments": _USUAL_ARGUMENTS.get(name, {})} for name in tier]}
    for tier in USUAL_TIERS
]


class BadConfigurationError(ValueError):
    """A configuration that is refused, with everything that is wrong with it."""

    def __init__(self, problems: Collection[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def parse(document: object, plugins: Mapping[str, PluginFactory] = _NO_PROVIDERS) -> Configuration:
    """Read a configuration from plain data; `plugins` are third parties', made where they are configured.

    Null is unset, and an empty document is the default.
    """
    remarks = Remarks()
    root = Entry("", {} if document is None else document, remarks)
    found = root.known_fields(("actions", "tiers", "configurations", "metrics"))
    actions = _actions(found["actions"]) if "actions" in found else ACTIONS
    configured = _plugins(found.get("tiers", Entry("tiers", _USUAL_TIERS, remarks)), plugins)
    arguments = _configurations(found["configurations"], actions) if "configurations" in found else {}
    if "metrics" in found:
        _pass_over_metrics(found["metrics"])
    for name in sorted(plugins.keys() & PLUGINS.keys()):
        remarks.warnings.append(f"a third party's plugin {name} is not used: Maar has its own of that name")
    if remarks.problems:
        raise BadConfigurationError(remarks.problems)
    grace = arguments.get("cleanup", {}).get(GRACE)
    return Configuration(
        actions,
        configured,
        grace_seconds=grace if isinstance(grace, float) else USUAL_GRACE_SECONDS,
        warnings=tuple(remarks.warnings),
    )


def _actions(entry: Entry) -> tuple[str, ...]:
    """Names with commas between them, in the order in which they run; one named twice runs twice.

    An action that Maar has under another name runs where that is not named itself.
    """
    if not isinstance(entry.value, str):
        entry.refuse(f"{yaml_text(entry.value)} is not a text of actions with commas between them")
        return ()
    named = [name.strip() for name in entry.value.split(",")]
    actions = list[str]()
    for name in named:
        own = ACTIONS_BY_NAME.get(name)
        if own is not None and (own == name or own not in (*named, *actions)):
            actions.append(own)
    for name, times in Counter(named).items():
        if not name:
            entry.refuse(f"the name of an action is missing. Supported: {', '.join(ACTIONS)}")
        elif name in ACTIONS_NOT_IN_MAAR:
            entry.warn(f"Maar does not have Volcano's action {name}: it is left out")
        elif name not in ACTIONS_BY_NAME:
            entry.refuse_unknown("action", name, ACTIONS)
        elif times > 1 and name in ACTIONS:
            entry.warn(f"{name} is named {times} times, and runs {times} times in every cycle")
    return tuple(actions)


def _plugins(tiers: Entry, third_party: Mapping[str, PluginFactory]) -> tuple[Plugin, ...]:
    """All plugins in tier order, each of them once."""
    configured: list[Plugin] = []
    places: dict[str, str] = {}
    for number, tier in enumerate(tiers.items(), start=1):
        listed = tier.known_fields(("plugins",)).get("plugins")
        made = [_plugin(entry, number, third_party, places) for entry in (listed.items() if listed else ())]
        here = {plugin.name: plugin for plugin in made if plugin is not None}
        if "proportion" in here and "drf" in here and here["drf"].switches.get("enableHierarchy"):
            tier.refuse(
                "proportion and drf with hierarchy enabled conflicts: "
                "leave enableHierarchy out, Maar's queues are a tree without it"
            )
        configured += here.values()
    for name, own in _OTHER_NAMES.items():
        if name in places and own in places:
            tiers.warn(f"{name} and {own} are one plugin in Maar: what {places[own]} says of it counts")
            configured = [plugin for plugin in configured if plugin.name != name]
    for name, own in _OTHER_NAMES.items():  # its arguments have no effect, and are not those of the other
        configured = [
            replace(plugin, name=own, arguments={}) if plugin.name == name else plugin
            for plugin in configured
        ]
    if not configured:
        tiers.warn("no plugin is configured: nothing filters, orders or protects")
    return tuple(configured)


def _plugin(
    entry: Entry, tier: int, third_party: Mapping[str, PluginFactory], places: dict[str, str]
) -> Plugin | None:
    """One plugin; None where it is refused or left out. `places` has the path of each that was configured."""
    known = (*PLUGINS, *sorted(third_party.keys() - PLUGINS.keys()))
    found = entry.known_fields(("name", "arguments", *SWITCHES))
    name = _name(entry, found, "plugin", known, places, tolerated=NOT_IN_MAAR)
    if name is None:
        return None
    if name not in known:
        _leave_out(entry, found, name)
        return None
    effective = PLUGINS[name].effective_switches if name in PLUGINS else THIRD_PARTY_SWITCHES
    if name == "capacity" and "enableHierarchy" in found and found["enableHierarchy"].value in (True, "true"):
        effective |= {"enableHierarchy"}  # Maar's queues are a tree: that is what it asks for
    switches = _switches({key: one for key, one in found.items() if key in SWITCHES}, effective)
    arguments = found.get("arguments", Entry(entry.path, {}, entry.remarks))
    if name in PLUGINS:
        values = _arguments(arguments, name, PLUGINS[name].arguments)
        _warn_of_values(arguments, values)
        if name == "usage" and not values.keys() <= {HALF_LIFE, STRENGTH}:
            entry.warn(_NOT_VOLCANOS_USAGE)
        return Plugin(name, tier, switches, values)
    own = {key: one.value for key, one in arguments.fields().items()}
    made = _hooks_of(entry, name, third_party[name], own) if isinstance(arguments.value, Mapping) else None
    return Plugin(name, tier, switches, own, made)


def _leave_out(entry: Entry, found: Mapping[str, Entry], name: str) -> None:
    """Pass over a plugin of Volcano's that Maar does not have, with whatever is set for it."""
    _switches({key: one for key, one in found.items() if key in SWITCHES}, effective=SWITCHES)
    if "arguments" in found:
        found["arguments"].fields()
    entry.warn(f"Maar does not have Volcano's plugin {name}: it is left out, with its arguments and switches")


def _name(
    entry: Entry,
    found: Mapping[str, Entry],
    what: str,
    known: Collection[str],
    places: dict[str, str],
    tolerated: Collection[str] = (),
) -> str | None:
    """Read the name of a plugin or an action, which must be known or tolerated and come up here first."""
    if "name" not in found:
        if isinstance(entry.value, Mapping):
            entry.refuse(f"the name of the {what} is missing. Supported: {', '.join(known)}")
        return None
    name = found["name"].read(text)
    if name is None:
        return None
    if name not in known and name not in tolerated:
        found["name"].refuse_unknown(what, name, known)
        return None
    if name in places:
        entry.refuse(f"the {what} {name} is already configured at {places[name]}; name it once")
        return None
    places[name] = entry.path
    return name


def _switches(entries: Mapping[str, Entry], effective: Collection[str]) -> dict[str, bool]:
    switches = {}
    for key, entry in entries.items():
        value = entry.read(boolean)
        if value is not None:
            switches[key] = value
            if key not in effective:
                entry.warn(_NO_EFFECT)
    return switches


def _configurations(entry: Entry, actions: Collection[str]) -> dict[str, dict[str, object]]:
    """The arguments of each action that has some."""
    arguments: dict[str, dict[str, object]] = {}
    places: dict[str, str] = {}
    for one in entry.items():
        found = one.known_fields(("name", "arguments"))
        name = _name(one, found, "action", ACTIONS, places, (*ACTIONS_BY_NAME, *ACTIONS_NOT_IN_MAAR))
        if name in ACTIONS_NOT_IN_MAAR:
            one.warn(f"Maar does not have Volcano's action {name}: it is left out, with its arguments")
        elif name is not None and "arguments" in found:
            arguments[name] = _arguments(found["arguments"], name, ACTION_ARGUMENTS[name])
            if ACTIONS_BY_NAME[name] not in actions:
                one.warn(f"no effect: {name} is not among the actions")
    return arguments


def _pass_over_metrics(entry: Entry) -> None:
    """Texts by name, for Volcano's sources of node metrics."""
    found = entry.fields()
    for one in found.values():
        one.read(scalar)
    if found:
        entry.warn(_NO_EFFECT)


def _arguments(entry: Entry, owner: str, known: Mapping[str, Argument]) -> dict[str, object]:
    """The arguments of a plugin or an action that are set, typed."""
    values = {}
    for key, one in entry.fields().items():
        argument = _argument_named(key, known)
        if argument is None:
            one.refuse_unknown(f"argument of {owner}", key, known)
        elif one.value is not None and (value := one.read(argument.read)) is not None:
            values[key] = value
            if not argument.has_effect:
                one.warn(_NO_EFFECT)
    return values


def _argument_named(name: str, known: Mapping[str, Argument]) -> Argument | None:
    """Find an argument by its name, or by the beginning of it where any name may follow."""
    if name in known and not name.endswith(ANY_NAME):
        return known[name]
    for pattern, argument in known.items():
        prefix = pattern.removesuffix(ANY_NAME)
        if prefix != pattern and name.startswith(prefix) and name != prefix:
            return argument
    return None


def _warn_of_values(entry: Entry, values: Mapping[str, object]) -> None:
    """Warn of values of a kind that is right and that are not used all the same."""
    factor, listed = values.get(FACTOR), values.get(BINPACK_RESOURCES)
    if isinstance(factor, Fraction) and factor < 1:
        written = entry.at(FACTOR)
        written.warn(f"{yaml_text(written.value)} is below 1; {float(USUAL_FACTOR)} is used")
    names = set(listed) if isinstance(listed, tuple) else set()
    for name in sorted(names & _ALWAYS_PACKED):
        entry.at(BINPACK_RESOURCES).warn(f"{name} has no effect there: its weight is binpack.{name}")
    for key in values:
        name = key.removeprefix(f"{BINPACK_RESOURCES}.")
        if name != key and name not in names - _ALWAYS_PACKED:
            entry.at(key).warn(f"no effect: {BINPACK_RESOURCES} does not add this resource")


def _hooks_of(
    entry: Entry, name: str, factory: PluginFactory, arguments: Mapping[str, object]
) -> PluginHooks | None:
    """Let a third party make its plugin; whatever goes wrong there is a problem of that plugin."""
    try:
        hooks = factory(dict(arguments))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (somebody else's code)
        entry.refuse(f"the plugin {name} cannot be made: {type(error).__name__}: {error}")
        return None
    if not isinstance(hooks, PluginHooks):
        entry.refuse(f"the plugin {name} returns {type(hooks).__name__} where it must return PluginHooks")
        return None
    return checked(name, hooks)


DEFAULT: Final = parse(None)
