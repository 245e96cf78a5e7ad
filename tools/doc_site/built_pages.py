"""What Sphinx does not look for in the pages that it has built: dead links, and anything of other servers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself when it shows a page; a link is followed only by its reader.
_FETCHED: Final = {
    ("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"),
    ("source", "srcset"), ("video", "src"), ("audio", "src"), ("embed", "src"), ("object", "data"),
    ("input", "src"), ("use", "href"), ("image", "href"), ("image", "xlink:href"),
}  # fmt: skip
_MADE_BY_SPHINX: Final = frozenset({"search", "genindex"})
_STYLES: Final = (
    "@import url(http",
    "@import 'http",
    '@import "http',
    "url(http",
    "url('http",
    'url("http',
    "url(//",
)


@dataclass
class Page:
    """The anchors, links and fetched addresses of a page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)


def problems(folder: Path) -> list[str]:
    """Everything that is wrong with a built site."""
    pages = {file: _read(file) for file in sorted(folder.rglob("*.html"))}
    found = [f"{folder} has no pages"] if not pages else []
    for file, page in pages.items():
        name = file.relative_to(folder)
        found += [
            f"{name}: fetches {one}, which is not on this site" for one in page.fetched if _is_elsewhere(one)
        ]
        links = [*page.links, *(one for one in page.fetched if not _is_elsewhere(one))]
        found += [f"{name}: {wrong}" for link in links for wrong in _dead(file, link, pages)]
    found += [f"{file.relative_to(folder)}: no page leads there" for file in _unreachable(folder, pages)]
    for file in (*folder.rglob("*.css"), *folder.rglob("*.svg")):
        text = file.read_text(encoding="utf-8").lower()
        found += [f"{file.relative_to(folder)}: fetches {one}…" for one in _STYLES if one in text]
    return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.page.anchors.add(value)
            elif tag == "a" and name == "href" and value:
                self.page.links.append(value)
            elif (tag, name) in _FETCHED and value:
                self.page.fetched.append(value)


def _read(file: Path) -> Page:
    reader = _Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader.page


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme not in ("", "data") or bool(parts.netloc)


def _unreachable(folder: Path, pages: dict[Path, Page]) -> list[Path]:
    """The pages that cannot be reached from the start page by following links."""
    reached, waiting = set[Path](), [folder / "index.html"]
    while waiting:
        file = waiting.pop()
        if file in reached or file not in pages:
            continue
        reached.add(file)
        targets = (urlsplit(link) for link in pages[file].links if not _is_elsewhere(link))
        waiting += [(file.parent / unquote(one.path)).resolve() for one in targets if one.path]
    return [file for file in pages if file not in reached and file.stem not in _MADE_BY_SPHINX]


def _dead(file: Path, link: str, pages: dict[Path, Page]) -> Iterator[str]:
    parts = urlsplit(link)
    if _is_elsewhere(link) or parts.scheme:
        return
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        yield f"links to {link}, which is not there"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        yield f"links to {link}, but that page has no such anchor"
