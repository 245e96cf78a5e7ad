"""Lines that the views draw, on a terminal or in a pipe: colours appear on a terminal only."""

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from maar.cli.terminal import Terminal
from maar.cli.visible import visible
from maar.core.views.drawing import WIDTH, Line


def print_lines(console: Console, lines: Iterable[Line]) -> None:
    """Print lines as they are: nothing is cut off or broken."""
    for line in lines:
        text = Text.assemble(*((visible(part.text), part.style) for part in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def width_of(console: Console) -> int:
    """How much a line may hold: what a terminal has, and in a pipe always the same."""
    return console.width if console.is_terminal else WIDTH


def print_on_terminal(draw: Callable[[int], Iterable[Line]]) -> None:
    """Print what is drawn for the width that there is."""
    console = Terminal()
    print_lines(console, draw(width_of(console)))
