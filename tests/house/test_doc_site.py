"""The documentation builds as a site, strictly, and what the build promises is really refused."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from typer.main import get_group

from doc_site.built_pages import problems
from doc_site.navigation import with_sections
from doc_site.reference.all_pages import reference_pages
from maar.cli.main import maar_app
from maar.core.admission.rules import all_rules
from maar.core.model.reasons import WHAT_TO_DO, Reason
from maar.core.policy.grammar import PLUGINS

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, in another folder."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "doc_site", str(folder)],
        cwd=ROOT, env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_it_has_all_pages_pictures_and_a_search_that_needs_no_server(site: Path) -> None:
    pages = {str(one.relative_to(site)) for one in site.rglob("*.html")}
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"{page.stem}.html" in pages
    assert {"index.html", "search.html", "specification/index.html", "decisions/index.html"} <= pages
    assert "Search.setIndex(" in (site / "searchindex.js").read_text(encoding="utf-8")
    start = (site / "index.html").read_text(encoding="utf-8")
    for picture in re.findall(r'<img[^>]* src="([^"]+)"', start):
        assert (site / picture).is_file()
    assert "plan-light.svg" in start
    assert "plan-dark.svg" in start


def test_the_reference_has_every_command_reason_rule_and_plugin() -> None:
    pages = {str(name): text for name, text in reference_pages().items()}
    for command in get_group(maar_app).commands:
        assert f"# maar {command}\n" in pages[f"reference/commands/maar-{command}.md"]
    assert set(WHAT_TO_DO) == set(Reason)
    assert all(f"[{reason}](" in pages["reference/reasons.md"] for reason in Reason)
    assert all(f"`{rule}`" in pages["reference/admission.md"] for rule in all_rules())
    assert all(f"## Plugin {plugin}\n" in pages["reference/configuration.md"] for plugin in PLUGINS)
    assert "`spec.guarantee.percentage`" in pages["reference/fields/Queue.md"]
    assert "`--kubeconfig <path>`" in pages["reference/commands/maar-queue.md"]


def test_the_navigation_follows_the_lists_of_the_start_page() -> None:
    text = "# A\n\n## Guides\n\n- [One](one.md): first.\n- [Two](two.md)\n\nSee [three](three.md).\n"
    added = with_sections(text).removeprefix(text)
    assert added.split() == [
        "```{toctree}", ":hidden:", ":caption:", "Guides", "One", "<one.md>", "Two", "<two.md>", "```",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "links to gone.html, which is not there"),
        ('<a href="#nowhere">x</a>', "links to #nowhere, but that page has no such anchor"),
        ('<a href="other.html#nowhere">x</a>', "that page has no such anchor"),
        ('<script src="https://cdn.example/x.js"></script>', "fetches https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/x.css"/>', "fetches //fonts.example/x.css"),
        ('<img src="http://example/x.png"/>', "fetches http://example/x.png"),
        ('<img src="gone.png"/>', "links to gone.png, which is not there"),
    ],
)
def test_a_built_page_that_is_wrong_is_named(tmp_path: Path, body: str, problem: str) -> None:
    (tmp_path / "other.html").write_text(
        '<h1 id="here">Other</h1><a href="index.html">back</a>', encoding="utf-8"
    )
    (tmp_path / "index.html").write_text(f'<a href="other.html#here">other</a>{body}', encoding="utf-8")
    (found,) = problems(tmp_path)
    assert found.startswith("index.html: ")
    assert problem in found


def test_a_page_that_nothing_leads_to_and_a_style_with_a_web_font_are_named(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="https://example.org">elsewhere</a>', encoding="utf-8")
    assert problems(tmp_path) == []
    (tmp_path / "alone.html").write_text("<p>alone</p>", encoding="utf-8")
    (tmp_path / "site.css").write_text("@font-face { src: url('https://fonts.example/x') }", encoding="utf-8")
    found = problems(tmp_path)
    assert found[0] == "alone.html: no page leads there"
    assert found[1].startswith("site.css: fetches")
