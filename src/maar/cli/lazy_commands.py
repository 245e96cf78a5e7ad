"""Commands that are imported when they run.

Importing every command takes ten times as long as printing a page of help, so a table says where
each command is and what help shows of it; a test compares the table with the commands. Help is
plain text, as kubectl's is: drawing frames takes longer to import than the rest of the command
line.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any, ClassVar, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class CommandPlace(NamedTuple):
    """Where a command or a group of commands is, and its line in the help of the program."""

    module: str
    attribute: str
    help: str
    settings: dict[str, Any] | None = None  # of the context of a single command


class LazyGroup(TyperGroup):
    """A program whose commands are imported when they run."""

    places: ClassVar[Mapping[str, CommandPlace]] = {}

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401  # as its base has them
        super().__init__(**attributes)
        for name, place in self.places.items():
            self.add_command(TyperCommand(name, help=place.help, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # types of the base are private
        """Find the command that a command line names, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.loaded(name) if name and name in self.places else command, rest

    def loaded(self, name: str) -> Any:  # noqa: ANN401  # as above
        """Import a command."""
        place = self.places[name]
        loaded = getattr(import_module(place.module), place.attribute)
        if isinstance(loaded, typer.Typer):
            loaded.rich_markup_mode = None
            command: Any = get_group(loaded)
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(context_settings=place.settings)(loaded)
            command = get_command(alone)
        command.name = name
        return command


_LOGGING: Final = ("-v", "--v", "--vmodule", "--log-flush-frequency")
_LEVEL: Final = re.compile(r"-v[0-9]+")


def of_volcano(given: Sequence[str], groups: int = 0) -> list[str]:
    """The arguments as Maar's command line has them; `help` may stand among as many words of commands."""
    kept, left = list[str](), iter(given)
    for word in left:
        if word == "--":
            kept += [word, *left]
        elif word.partition("=")[0] in _LOGGING:
            if "=" not in word:
                next(left, None)  # its value
        elif not _LEVEL.fullmatch(word):
            kept.append("--help" if word == "-h" else word)
    words = list(takewhile(lambda word: not word.startswith("-"), kept))[: groups + 1]
    if "help" in words:
        kept.remove("help")
        kept.append("--help")
    return kept
