"""The commands that the pages give to readers, and which test runs each of them.

A block marked `sh` has a command on every line; a block marked `text` right below it is what the
last of them prints in the end. In one marked `console` a command follows `$ `, and what it prints
follows the command. A line that ends with `|`, `&&` or a backslash goes on in the next.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_BLOCK: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^ *```$(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_LANGUAGES: Final = ("sh", "console", "bash", "shell")
_GOES_ON: Final = re.compile(r"(?:\||&&|\\)$")


class PageCommand(NamedTuple):
    """A command of a page, and what the page says that it prints."""

    page: str
    language: str
    text: str
    output: str


def commands(page: Path) -> list[PageCommand]:
    """The commands of a page, in order."""
    name = str(page.relative_to(ROOT))
    found = []
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["language"] not in _LANGUAGES:
            continue
        lines = [line.removeprefix(block["indent"]) for line in block["text"].splitlines()]
        split = _prompted(lines) if block["language"] == "console" else _listed(lines, block["printed"] or "")
        found += [PageCommand(name, block["language"], text, output) for text, output in split]
    return found


def all_commands() -> list[PageCommand]:
    """The commands of all pages."""
    return [command for page in PAGES for command in commands(page)]


def _whole(lines: list[str]) -> Iterator[str]:
    """Commands, each with the lines in which it goes on."""
    so_far: list[str] = []
    for line in lines:
        if not so_far and (not line.strip() or line.startswith("#")):
            continue
        so_far.append(line)
        if not _GOES_ON.search(line):
            yield "\n".join(so_far)
            so_far = []


def _listed(lines: list[str], printed: str) -> Iterator[tuple[str, str]]:
    *before, last = _whole(lines)
    yield from ((line, "") for line in before)
    yield last, printed


def _prompted(lines: list[str]) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", "\n".join([*lines, ""]), flags=re.MULTILINE)[1:]:
        listed = part.splitlines()
        command = next(_whole(listed))
        output = listed[len(command.splitlines()) :]
        yield command, "".join(f"{line}\n" for line in output)


# Pages whose commands are run on a cluster, one after the other: tests/e2e/test_page_commands.py.
ON_MAAR_UP: Final = (
    "README.md",
    "docs/demo.md",
    "docs/job-commands.md",
    "docs/laptop.md",
    "docs/snapshots.md",
)
# Pages with a test of their own that reads commands from the page: the test, and how these commands begin.
WITH_THEIR_OWN_TEST: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "docs/cluster.md": {"tests/e2e/test_cluster_page.py": ("",)},
    "docs/dashboards.md": {"tests/e2e/test_chart.py": ("helm upgrade ",)},
    "docs/installing.md": {"tests/e2e/test_manifests.py": ("kubectl create ",)},
    "docs/moving-from-volcano.md": {
        "tests/e2e/test_moving.py": ("kubectl delete ",),
        "tests/e2e/test_page_commands.py": ("kubectl get ",),
    },
    "docs/past-use.md": {"tests/e2e/test_page_commands.py": ("kubectl patch ",)},
    "docs/shared-workstation.md": {"tests/e2e/test_shared_workstation.py": ("",)},
}
# What no test runs as it stands, and why: how such commands begin, by page.
NOT_RUN: Final[Mapping[str, Mapping[str, str]]] = {
    "docs/benchmarks.md": {
        ".venv/bin/python bench/": "a benchmark that takes minutes: make bench, make soak",
        "git worktree": "the reader fills in a commit",
    },
    "docs/demo.md": {
        "maar demo --speed 120": "a minute; tests/e2e/test_demo.py runs the demo at this speed",
    },
    "docs/installing.md": {
        "docker build": "needs a builder of images; tests/e2e/test_image.py does the steps of the Dockerfile",
        "helm install": "needs Helm; tests/e2e/test_chart.py installs the chart where it has been built",
    },
    "docs/load.md": {".venv/bin/python bench/": "a benchmark that takes minutes: make bench, make soak"},
    "docs/snapshots.md": {"kill -USR1": "the reader fills in a process; tests/e2e/test_snapshot.py does"},
}
