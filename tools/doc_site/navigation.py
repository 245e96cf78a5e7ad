"""The navigation, which is read from lists of links that readers of the pages see as well."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

# The head of a page that a list in another page leads to: a navigation of all of them would take longer to
# draw than the rest of the site, and would be too long to read.
OUTSIDE: Final = "---\norphan: true\n---\n"
_SECTION: Final = re.compile(r"^## (.+)$")
_ENTRY: Final = re.compile(r"^- \[([^\]]+)\]\(([^)#]+\.md)\)")
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
            sections.setdefault(caption, []).append(f"{entry[1]} <{entry[2]}>")
    return text + "".join(toctree(pages, caption) for caption, pages in sections.items())


def with_rows(text: str) -> str:
    """A page whose table lists the pages below it."""
    return text + toctree(match[1] for line in text.splitlines() if (match := _ROW.match(line)))


def relative(target: PurePosixPath, page: PurePosixPath) -> str:
    """The link from a page of the site to another."""
    above = [".."] * len(page.parent.parts)
    return "/".join([*above, *target.parts])
