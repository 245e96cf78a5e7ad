"""Every command and flag, as the programs' own help has them."""

from collections.abc import Iterator
from typing import Any, Final

import typer
from typer.main import get_command, get_group

from doc_site.reference.tables import code, plain, table
from maar.cli.main import maar_app, vcctl_app
from maar.cli.vcctl import short

_PROGRAMS: Final = {"maar": maar_app, "vcctl": vcctl_app}
_SHORT_PROGRAMS: Final = ("vsub", "vjobs", "vcancel", "vsuspend", "vresume")
_HEAD: Final = """# Commands

Every command with its arguments and flags, generated from the programs. Each has `--help`, which says
the same. `kubectl maar` is `maar` as a plugin of kubectl. `vcctl` and the short programs have Volcano's
names and flags.
"""


def index() -> str:
    """The list of all commands."""
    lines = [_HEAD]
    for program, command in _commands():
        rows = [
            (f"[`{path}`](commands/{program}.md#{_anchor(path)})", plain(one.help or ""))
            for path, one, _ in _walk(command)
        ]
        lines.append(table(("command", "what it does"), rows))
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """A page for each command of `maar`, one for `vcctl` and one for each short program."""
    return {program: _page(command) for program, command in _commands()}


def _commands() -> Iterator[tuple[str, typer.Context]]:
    """The commands that have a page, with the context in which they are called."""
    maar = get_group(maar_app)
    root = typer.Context(maar, info_name="maar")
    for name in maar.commands:
        command: Any = maar.loaded(name) if name in maar.places else maar.commands[name]  # type: ignore[attr-defined]
        yield f"maar-{name}", typer.Context(command, info_name=name, parent=root)
    yield "vcctl", typer.Context(get_group(vcctl_app), info_name="vcctl")
    for name in _SHORT_PROGRAMS:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(getattr(short, name))
        yield name, typer.Context(get_command(app), info_name=name)


def _walk(context: typer.Context) -> Iterator[tuple[str, Any, typer.Context]]:
    """A command and those below it, each with its path."""
    command: Any = context.command
    yield context.command_path, command, context
    for name in getattr(command, "commands", ()):
        below = command.loaded(name) if name in getattr(command, "places", ()) else command.commands[name]
        if not below.hidden:
            yield from _walk(typer.Context(below, info_name=name, parent=context))


def _page(root: typer.Context) -> str:
    lines = []
    for path, command, context in _walk(root):
        if not command.help:
            raise SystemExit(f"{path} has no help: give its function a docstring")
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        lines += [f"{'#' if context is root else '##'} {path}", "", plain(command.help), ""]
        lines += ["```text", usage, "```", "", *_parameters(path, command, context)]
    return "\n".join(lines)


def _parameters(path: str, command: Any, context: typer.Context) -> Iterator[str]:  # noqa: ANN401  # the types are private
    records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or "--help" in parameter.opts:
            continue
        if not record[1].partition("  [")[0].strip():
            raise SystemExit(f"{path}: {record[0]} has no help")
        records[parameter.param_type_name].append(record)
    for kind, found in records.items():
        if found:
            yield table((kind, "meaning"), ((code(name), plain(text)) for name, text in found))


def _anchor(path: str) -> str:
    return path.replace(" ", "-")
