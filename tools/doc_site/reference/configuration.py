"""Every action, plugin, switch and argument of the scheduler's configuration."""

from collections.abc import Iterator, Mapping
from typing import Final

from doc_site.reference.tables import code, plain, table
from maar.core.policy.grammar import (
    ACTION_ARGUMENTS,
    ACTIONS,
    ARGUMENTS_OF_OTHER_NAMES,
    NOT_IN_MAAR,
    OTHER_NAMES,
    PLUGINS,
    SWITCHES,
    USUAL_TIERS,
    Argument,
)

_HEAD: Final = """# Configuration of the scheduler

The configuration has Volcano's grammar. This is all that may stand in it, generated from what reads it;
anything else is refused by name. [The specification](../specification/cycle.md#configuration) says what
the parts mean, and [installing](../installing.md) where the file is. Without a file this one is in
force:
"""


def page() -> str:
    """The page: the default, actions, plugins and switches."""
    lines = [_HEAD, "```yaml", *_default(), "```", "", "## Actions", ""]
    lines += [f"They run in the order in which they are named: {', '.join(map(code, ACTIONS))}.", ""]
    for action, arguments in ACTION_ARGUMENTS.items():
        if effective := _table(arguments):
            lines += [f"Arguments of {code(action)}, under `configurations`:", "", effective]
    for name, plugin in PLUGINS.items():
        lines += [f"## Plugin {name}", "", plain(plugin.meaning), ""]
        if plugin.effective_switches:
            switches = ", ".join(code(one) for one in sorted(plugin.effective_switches))
            lines += [f"Switches that turn off a part of it: {switches}.", ""]
        if effective := _table(plugin.arguments):
            lines += [effective]
        if ignored := [code(one) for one, argument in plugin.arguments.items() if not argument.has_effect]:
            lines += [f"Accepted, without effect: {', '.join(ignored)}.", ""]
    for other, own in OTHER_NAMES.items():
        ignored = [code(one) for one in ARGUMENTS_OF_OTHER_NAMES[other]]
        lines += [f"## Plugin {other}", "", f"Volcano's name for {code(own)}, with its switches.", ""]
        lines += [f"Accepted, without effect: {', '.join(ignored)}.", ""]
    lines += ["## Accepted and left out", "", "Plugins that Volcano has and Maar has not, with a warning: "]
    lines += [f"{', '.join(code(one) for one in sorted(NOT_IN_MAAR))}.", ""]
    lines += ["All switches that are known, most of them without effect in Maar: "]
    lines += [f"{', '.join(code(one) for one in sorted(SWITCHES))}.", ""]
    return "\n".join(lines)


def _default() -> Iterator[str]:
    yield f'actions: "{", ".join(ACTIONS)}"'
    yield "tiers:"
    for tier in USUAL_TIERS:
        yield "- plugins:"
        for name in tier:
            yield f"  - name: {name}"
            if name == "nodeorder":
                yield "    arguments: {leastrequested.weight: 0}"


def _table(arguments: Mapping[str, Argument]) -> str:
    rows = []
    for name, argument in arguments.items():
        if argument.has_effect and not argument.meaning:
            raise SystemExit(f"say what the argument {name} is for: core/policy/grammar.py")
        if argument.has_effect:
            rows.append((code(name), _type(argument), code(argument.default), plain(argument.meaning)))
    return table(("argument", "value", "default", "meaning"), rows) if rows else ""


def _type(argument: Argument) -> str:
    """What its reader reads, in the words of the reader."""
    return (argument.read.__doc__ or "").removeprefix("Read ").partition(", in quotes")[0].rstrip(".")
