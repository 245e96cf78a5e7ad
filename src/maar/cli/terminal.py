"""The console that commands draw on: rich's, for names that anybody chose."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from maar.cli.visible import visible


class Terminal(Console):
    """rich's console; names are no markup, and what a terminal would obey in them is written out."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the texts of something that is printed, all of them visible."""
        for one in super().render(renderable, options):
            yield one if one.control else Segment(visible(one.text), one.style)
