"""The pages say what is true: their examples are run as they stand."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
OURS = ("maar ", "vcctl ")


def sessions(page: Path) -> list[tuple[str, str]]:
    """The commands of a page that are ours, with the output it promises."""
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith(OURS):
                found.append((command, output))
    return found


SESSIONS = [(page.name, *session) for page in PAGES for session in sessions(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_give_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where the examples are
    result = doctest.testfile(str(page), module_relative=False)
    assert result.failed == 0


def test_the_pages_have_python_examples() -> None:
    assert any(">>> " in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize(("page", "command", "output"), SESSIONS, ids=[session[1] for session in SESSIONS])
def test_commands_print_what_the_page_says(page: str, command: str, output: str) -> None:
    assert page
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["sh", "-c", f"{command} 2>&1"],
        cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line.rstrip() for line in result.stdout.splitlines()] == output.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


WATCH_OF_SEVERAL = re.compile(r"kubectl get [\w.]+,\S+ [^`\n]*(?:-w|--watch)\b")


@pytest.mark.parametrize("folder", ["docs", "examples", "src/maar/cli", "src/maar/apps", "deploy/chart"])
def test_no_page_and_no_message_watches_several_kinds_at_once(folder: str) -> None:
    """Kubectl refuses it: you may only specify a single resource type."""
    files = [one for one in (ROOT / folder).rglob("*") if one.suffix in {".md", ".yaml", ".py"}]
    for file in [*files, ROOT / "README.md"]:
        assert not WATCH_OF_SEVERAL.search(file.read_text(encoding="utf-8")), file


def test_the_verbs_that_the_pages_name_exist() -> None:
    verbs = set(re.findall(r"^\$ make ([a-z-]+)", "".join(page.read_text() for page in PAGES), re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert verbs
    assert verbs <= targets


def test_source_files_that_the_architecture_names_exist() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:core|apps|kube|embedded|cli|serving|parsing)/[a-z_/]+\.py)`", page)
    assert named
    assert [file for file in named if not (ROOT / "src" / "maar" / file).exists()] == []
