"""Links and headings of Markdown pages, as GitHub makes anchors of them."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_HEADING: Final = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_LINK: Final = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_CODE: Final = re.compile(r"`+[^`]*`+")
_LINKED: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_DROPPED: Final = re.compile(r"[^\w\- ]")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings; a heading that comes again gets a number."""
    found, times = set[str](), Counter[str]()
    for _, line in _prose(page):
        if heading := _HEADING.match(line):
            name = _anchor(heading[1])
            found.add(f"{name}-{times[name]}" if times[name] else name)
            times[name] += 1
    return found


def links(page: Path) -> Iterator[tuple[int, str]]:
    """The targets of links to other places of the same repository, with their line numbers."""
    for number, line in _prose(page):
        for target in _LINK.findall(_CODE.sub("", line)):
            if "://" not in target and not target.startswith("mailto:"):
                yield number, target


def problem(page: Path, target: str) -> str:
    """What is wrong with a link of a page: nothing, or a file or heading that does not exist."""
    name, _, heading = target.partition("#")
    linked = page.parent / name if name else page
    if not linked.exists():
        return f"{name} does not exist"
    if heading and linked.suffix == ".md" and heading not in anchors(linked):
        return f"{linked.name} has no heading #{heading}"
    return ""


def _anchor(heading: str) -> str:
    text = _LINKED.sub(r"\1", heading).replace("`", "").lower()
    return _DROPPED.sub("", text).replace(" ", "-")


def _prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page that are not code."""
    is_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield number, line
