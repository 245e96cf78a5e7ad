"""The console that commands draw on: rich's, for names that anybody chose."""

from collections.abc import Callable, Iterable
from typing import IO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from maar.cli.visible import visible
from maar.core.views.drawing import WIDTH, Line


class Terminal(Console):
    """rich's console; names are no markup, and what a terminal would obey in them is written out."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    @property
    def file(self) -> IO[str]:
        """The stream itself.

        A live display of rich puts a stream of its own in front of the one of `visible_output`, and rich
        looks behind one only: codes of cursor and colour would be written out as text.
        """
        file = super().file
        return cast(IO[str], getattr(file, "rich_proxied_file", file))

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the texts of something that is printed, all of them visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


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
