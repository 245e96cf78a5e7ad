"""Lines that views draw, for the page: texts with the style that a terminal would give them."""

from collections.abc import Iterable

from maar.core.views.drawing import Line, plain

Json = dict[str, object]


def page_lines(lines: Iterable[Line]) -> list[Json]:
    """Lines as data."""
    return [{"text": plain(line), **({"style": style} if (style := _style(line)) else {})} for line in lines]


def _style(line: Line) -> str:
    return next((part.style for part in line if part.style), "")
