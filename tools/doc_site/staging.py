"""The folder that Sphinx builds: pages with links as they are on the site, and pages that are generated."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from doc_site.navigation import OUTSIDE, relative, with_rows, with_sections
from doc_site.paths import DECISIONS, DOCS, PROJECT_PAGES, ROOT, is_shown_as_file, site_path
from doc_site.pictures import draw, recording, screenshots, shown
from doc_site.reference.all_pages import reference_pages
from doc_site.source_files import page_of

_FENCE: Final = re.compile(r"^\s*(```+|~~~+)")
_LINK: Final = re.compile(r"(`+[^`]*`+)|(\]\()([^)\s]+)(\))")
_PICTURE: Final = re.compile(r"^<!-- picture: ([a-z-]+) -->$", re.MULTILINE)
_REFERENCE: Final = "<!-- the pages of the reference that are generated -->"
_START: Final = DOCS / "README.md"
_SPECIFICATION: Final = DOCS / "specification" / "README.md"


@dataclass
class Site:
    """The pages so far, and the files of the repository that they link to."""

    folder: Path
    linked_files: set[PurePosixPath] = field(default_factory=set)

    def write(self, page: PurePosixPath, text: str) -> None:
        """Add a page."""
        file = self.folder / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def with_links(self, text: str, file: PurePosixPath) -> str:
        """A page of the repository with its links as they are on the site; code is left as it is."""
        return "".join(self._linked_lines(text, file))

    def _linked_lines(self, text: str, file: PurePosixPath) -> Iterator[str]:
        fence = ""
        for line in text.splitlines(keepends=True):
            if found := _FENCE.match(line):
                fence = "" if fence and found[1].startswith(fence) else fence or found[1]
                yield line
            else:
                yield line if fence else _LINK.sub(lambda match: self._link(match, file), line)

    def _link(self, match: re.Match[str], file: PurePosixPath) -> str:
        if match[1] or "://" in match[3] or match[3].startswith("#"):
            return match[0]
        name, hash_sign, heading = match[3].partition("#")
        linked = (ROOT / file.parent / name).resolve()
        if not linked.exists():
            raise SystemExit(f"{file}: links to {name}, which does not exist")
        target = PurePosixPath(linked.relative_to(ROOT))
        if is_shown_as_file(target):
            self.linked_files.add(target)
        return f"{match[2]}{relative(site_path(target), site_path(file))}{hash_sign}{heading}{match[4]}"


def stage(folder: Path) -> None:
    """Write everything that Sphinx needs into a folder."""
    site = Site(folder)
    generated = reference_pages()
    for page, text in generated.items():
        site.write(page, text)
    draw(folder / "pictures")
    for file in _pages():
        text = site.with_links(_read(file), file)
        text = _PICTURE.sub(lambda match: _picture(match[1], folder), text)
        site.write(site_path(file), _finished(file)(text, generated))
    site.write(site_path(DECISIONS), _decisions())
    for linked in sorted(site.linked_files):
        site.write(site_path(linked), OUTSIDE + page_of(linked))
    names = [f"- [{linked}]({site_path(linked).name})" for linked in sorted(site.linked_files)]
    site.write(PurePosixPath("files/index.md"), "\n".join([_FILES, *names, ""]))


_FILES: Final = """# Files that pages link to

Files of the repository, as they are: examples, scenarios of the tests, and what installs Maar.
"""


def _pages() -> list[PurePosixPath]:
    found = [PurePosixPath(one.relative_to(ROOT)) for one in sorted((ROOT / DOCS).rglob("*.md"))]
    return [*found, *(page for page in PROJECT_PAGES if page.name != "README.md")]


def _read(file: PurePosixPath) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def _finished(file: PurePosixPath) -> Callable[[str, dict[PurePosixPath, str]], str]:
    """What is added to a page."""
    if file == _START:
        return _start_page
    if file == _SPECIFICATION:
        return lambda text, _generated: with_rows(text)
    outside = OUTSIDE if file.is_relative_to(DECISIONS) else ""
    return lambda text, _generated: outside + text


def _start_page(text: str, generated: dict[PurePosixPath, str]) -> str:
    for page in _pages():
        within = page.relative_to(DOCS) if page.is_relative_to(DOCS) else page
        if len(within.parts) == 1 and page != _START and f"({site_path(page)})" not in text:
            raise SystemExit(f"{page} is in no list of {_START}: add a line for it, or no reader finds it")
    if _REFERENCE not in text:
        raise SystemExit(f"{_START}: put this line where the generated reference shall be: {_REFERENCE}")
    entries = [
        f"- [{_title(page)}]({name})" for name, page in generated.items() if name.parent.name == "reference"
    ]
    entries.append("- [Files that pages link to](files/index.md)")
    return with_sections(text.replace(_REFERENCE, "\n".join(entries)))


def _picture(name: str, folder: Path) -> str:
    copied = {"console": screenshots, "demo": recording}
    return copied[name](folder / "pictures") if name in copied else shown(name)


def _decisions() -> str:
    lines = [
        "# Decisions",
        "",
        "Why it is so and not otherwise, a short record for each, the newest first.",
        "",
    ]
    records = sorted((ROOT / DECISIONS).glob("*.md"), reverse=True)
    lines += [f"- [{_title(record.read_text(encoding='utf-8'))}]({record.name})" for record in records]
    return "\n".join([*lines, ""])


def _title(text: str) -> str:
    return text.splitlines()[0].removeprefix("# ")
