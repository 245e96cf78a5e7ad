"""The navigation, which is read from lists of links that readers of the pages see as well."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

_SECTION: Final = re.compile(r"^## (.+)$")
_ENTRY: Final = re.compile(r"^- \[[^\]]+\]\(([^)#]+\.md)\)")
_ROW: Final = re.compile(r"^\| \[[^\]]+\]\(([^)#]+\.md)\)")


def toctree(pages: Iterable[str], caption: str = "") -> str:
    """Sphinx's list of pages, which is shown in the navigation and not in the text."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else ())]
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def with_sections(text: str) -> str:
    """The start page, each of whose sections becomes a part of the navigation."""
    sections: dict[str, list[str]] = {}
    caption = ""
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            caption = heading[1]
        elif entry := _ENTRY.match(line):
            sections.setdefault(caption, []).append(entry[1])
    return text + "".join(toctree(pages, caption) for caption, pages in sections.items())


def with_rows(text: str) -> str:
    """A page whose table lists the pages below it."""
    return text + toctree(match[1] for line in text.splitlines() if (match := _ROW.match(line)))


def relative(target: PurePosixPath, page: PurePosixPath) -> str:
    """The link from a page of the site to another."""
    above = [".."] * len(page.parent.parts)
    return "/".join([*above, *target.parts])
