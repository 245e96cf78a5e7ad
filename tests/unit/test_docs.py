"""The pages say what is true: their examples are run as they stand."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.page_commands import (
    NOT_RUN,
    ON_MAAR_UP,
    PAGES,
    ROOT,
    WITH_THEIR_OWN_TEST,
    PageCommand,
    all_commands,
)

OURS = ("maar ", "vcctl ")
COMMANDS = all_commands()
SESSIONS = [one for one in COMMANDS if one.language == "console" and one.text.startswith(OURS)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_give_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where the examples are
    result = doctest.testfile(str(page), module_relative=False)
    assert result.failed == 0


def test_the_pages_have_python_examples() -> None:
    assert any(">>> " in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("command", SESSIONS, ids=[session.text for session in SESSIONS])
def test_commands_print_what_the_page_says(command: PageCommand) -> None:
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["sh", "-c", f"{command.text} 2>&1"],
        cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line.rstrip() for line in result.stdout.splitlines()] == command.output.splitlines()


def without_comment(command: PageCommand) -> str:
    return command.text.partition("  #")[0].rstrip()


def run_by(command: PageCommand) -> set[str]:
    """The test that runs a command, or the reason why none does."""
    if command.text.startswith(("make ", "export ")):
        return {"the verbs are CI's own, and tests set what is exported"}
    reasons = NOT_RUN.get(command.page, {})
    if found := {why for beginning, why in reasons.items() if command.text.startswith(beginning)}:
        return found
    own = WITH_THEIR_OWN_TEST.get(command.page, {})
    found = {test for test, beginnings in own.items() if command.text.startswith(beginnings)}
    if command in SESSIONS:
        found.add("tests/unit/test_docs.py")
    if command.page in ON_MAAR_UP and command.language == "sh":
        found.add("tests/e2e/test_page_commands.py")
    return found


RUN = {without_comment(command) for command in COMMANDS if run_by(command)}


@pytest.mark.parametrize("command", COMMANDS, ids=[f"{one.page}: {one.text}" for one in COMMANDS])
def test_every_command_is_run_by_one_test_or_listed_with_a_reason(command: PageCommand) -> None:
    """A command that another page gives too need not be run twice."""
    assert without_comment(command) in RUN, "tests/support/page_commands.py says where it can be run"
    assert len(run_by(command)) <= 1


def test_the_lists_name_only_commands_that_the_pages_have() -> None:
    by_page = [
        (page, one) for page, tests in WITH_THEIR_OWN_TEST.items() for ones in tests.values() for one in ones
    ]
    for page, beginning in [*by_page, *((page, one) for page, reasons in NOT_RUN.items() for one in reasons)]:
        texts = [command.text for command in COMMANDS if command.page == page]
        assert any(text.startswith(beginning) for text in texts), f"{page}: {beginning}"


def test_a_test_of_a_page_reads_that_page() -> None:
    for page, tests in WITH_THEIR_OWN_TEST.items():
        for test in tests:
            assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), (
                f"{test} does not read {page}"
            )


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


def test_the_tree_of_the_architecture_has_every_package() -> None:
    page, source = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), ROOT / "src" / "maar"
    drawn, above = set[str](), list[str]()
    for indent, names in re.findall(r"^([│ ]*)[├└]── ((?:\w+/ *)+)", page, re.MULTILINE):
        depth = len(indent) // 4
        folders = ["/".join([*above[:depth], name]) for name in names.replace("/", "").split()]
        above[depth:] = [names.split("/")[0]]
        drawn.update(folders)
    packages = {file.parent.relative_to(source).as_posix() for file in source.rglob("__init__.py")}
    assert packages - {"."} == drawn


def test_the_page_of_maar_up_has_every_flag() -> None:
    """Its title in the list of pages says so."""
    page = (ROOT / "docs" / "maar-up.md").read_text(encoding="utf-8")
    found = subprocess.run(
        [Path(sys.prefix) / "bin" / "maar", "up", "--help"], capture_output=True, text=True, check=True
    )
    flags = set(re.findall(r"^ {2}(?:-\w, )?(--[a-z-]+)", found.stdout, re.MULTILINE))
    assert {flag for flag in flags - {"--help", "--console", "--verbose"} if f"`{flag}" not in page} == set()


def test_the_changelog_says_nothing_twice() -> None:
    """A merge of two branches that both added an entry leaves both."""
    entries = re.split(r"^- ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted({one for one in entries if entries.count(one) > 1}) == []


@pytest.mark.parametrize(
    "package", ["cycle/gate", "cycle/placing", "cycle/holding", "cycle/evicting", "reasons"]
)
def test_a_package_of_the_cycle_lists_all_its_modules(package: str) -> None:
    folder = ROOT / "src" / "maar" / "core" / package
    contents = (folder / "__init__.py").read_text(encoding="utf-8")
    assert {file.stem for file in folder.glob("*.py")} - {"__init__"} == set(re.findall(r"`(\w+)`", contents))
