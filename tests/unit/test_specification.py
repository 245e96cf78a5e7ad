"""The specification is complete: what the code can name, its pages define."""

import re
from pathlib import Path
from typing import Final

import pytest

from maar.core.admission.rules import all_rules
from maar.core.model.reasons import Cure, Reason
from maar.core.policy.grammar import ACTIONS, NOT_IN_MAAR, PLUGINS

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ROOT / "docs" / "specification"
LAW: Final = re.compile(r"\b[Ll]aws?:? ((?:[CEFHJPRS][0-9]{1,2}(?: to |, | and )?)+)")


def page(name: str) -> str:
    """The text of a page."""
    return (PAGES / name).read_text(encoding="utf-8")


def headings(name: str) -> set[str]:
    """The headings of a page."""
    return set(re.findall(r"^#+ (.+)$", page(name), re.MULTILINE))


def test_every_page_is_in_the_index() -> None:
    names = {file.name for file in PAGES.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", page("README.md"), re.MULTILINE)) == names


def test_every_reason_is_defined_with_its_cure_and_what_autoscalers_are_told() -> None:
    built = {name for name in headings("reasons.md") if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", name)}
    assert built == {str(reason) for reason in Reason}
    for section in re.split(r"^### ", page("reasons.md"), flags=re.MULTILINE)[1:]:
        if section.partition("\n")[0] in built:
            assert "Autoscalers:" in section
            assert re.search("cure", section, re.IGNORECASE)


@pytest.mark.parametrize("cure", Cure)
def test_every_cure_is_defined(cure: Cure) -> None:
    assert f"| {cure} |" in page("reasons.md")


@pytest.mark.parametrize("rule", all_rules())
def test_every_rule_of_admission_is_defined(rule: str) -> None:
    assert f"`{rule}`" in page("objects.md")


def test_actions_and_plugins_are_those_of_the_configuration() -> None:
    cycle = page("cycle.md")
    assert f"    {', '.join(ACTIONS)}\n" in cycle
    assert set(re.findall(r"^\| `([a-z]+)` \|", cycle, re.MULTILINE)) == set(PLUGINS)
    assert all(f"`{name}`" in cycle for name in NOT_IN_MAAR)
    for plugin, grammar in PLUGINS.items():
        row = next(line for line in cycle.splitlines() if line.startswith(f"| `{plugin}` |"))
        effective = {name for name, argument in grammar.arguments.items() if argument.has_effect}
        assert set(re.findall(r"`([^`]+)`", row)) == {plugin} | grammar.effective_switches | effective


def test_every_law_that_the_tests_name_is_defined() -> None:
    named = set[str]()
    for folder in ("tests", "bench", "docs"):
        for file in (ROOT / folder).rglob("*.*"):
            if file.suffix in {".py", ".md"}:
                for found in LAW.findall(file.read_text(encoding="utf-8")):
                    named.update(re.findall(r"[CEFHJPRS][0-9]{1,2}", found))
    assert named
    assert named <= headings("laws.md")
