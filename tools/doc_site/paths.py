"""Where a file of the repository is on the site."""

from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = PurePosixPath("docs")
DECISIONS: Final = PurePosixPath("docs/decisions")
START: Final = PurePosixPath("index.md")
FILES: Final = PurePosixPath("files")
PROJECT_PAGES: Final = {
    PurePosixPath("README.md"): START,
    PurePosixPath("ARCHITECTURE.md"): PurePosixPath("architecture.md"),
    PurePosixPath("CONTRIBUTING.md"): PurePosixPath("contributing.md"),
    PurePosixPath("CHANGELOG.md"): PurePosixPath("changelog.md"),
}


def site_path(path: PurePosixPath) -> PurePosixPath:
    """The page that shows a file or folder of the repository; one is made for what is no page."""
    if path in PROJECT_PAGES:
        return PROJECT_PAGES[path]
    if path == DECISIONS:
        return PurePosixPath("decisions/index.md")
    if path.suffix == ".md" and path.is_relative_to(DOCS):
        within = path.relative_to(DOCS)
        return within.with_name("index.md") if within.name == "README.md" else within
    return FILES / f"{str(path).replace('/', '-')}.md"


def is_shown_as_file(path: PurePosixPath) -> bool:
    """Whether the site has a page that is made of this file or folder."""
    return site_path(path).parent == FILES
