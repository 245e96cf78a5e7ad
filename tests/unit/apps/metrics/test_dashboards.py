"""The dashboards and alerts of the chart ask for metrics that exist, and their page has all of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from support.all_metrics import all_families
from support.prometheus import MONITORING

ROOT: Final = Path(__file__).parents[4]
PAGE: Final = ROOT / "docs" / "dashboards.md"
NAME: Final = re.compile(r"\b(?:maar|volcano|process)_\w+")
PARTS: Final = re.compile("_(bucket|sum|count)$")
DASHBOARDS: Final = sorted((MONITORING / "dashboards").glob("*.json"))


def dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def queries() -> Iterator[str]:
    """Everything that is asked of Prometheus."""
    for path in DASHBOARDS:
        for panel in dashboard(path)["panels"]:
            yield from (target["expr"] for target in panel["targets"])
        for variable in dashboard(path)["templating"]["list"]:
            yield variable["query"] if isinstance(variable["query"], str) else variable["query"]["query"]
    for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


@pytest.fixture(scope="module")
def families() -> dict[str, set[str]]:
    return {name: labels for name, _, labels in all_families()}


def test_they_ask_only_for_metrics_that_exist(families: dict[str, set[str]]) -> None:
    asked = {name for query in queries() for name in NAME.findall(query)}
    histograms = {PARTS.sub("", name) for name in asked - families.keys()}
    assert histograms <= families.keys()
    assert len(asked) > 30


def test_they_ask_only_for_labels_that_exist(families: dict[str, set[str]]) -> None:
    for query in queries():
        for name, matchers in re.findall(r"\b((?:maar|volcano)_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)[!=~]+\"", matchers)) <= families[name], query


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_each_panel_says_what_it_shows_and_what_to_do(path: Path) -> None:
    page = yaml.safe_load((ROOT / "tools" / "dashboards" / f"{path.stem}.yaml").read_text(encoding="utf-8"))
    shown = dashboard(path)["panels"]
    assert len(shown) == len(page["panels"])
    for panel, source in zip(shown, page["panels"], strict=True):
        assert panel["description"] == f"{source['does']} {source['act']}"
        assert source["does"].endswith(".")
        assert source["act"].endswith(".")


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_no_two_panels_lie_on_each_other(path: Path) -> None:
    taken = set[tuple[int, int]]()
    for panel in dashboard(path)["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_the_page_has_every_dashboard_and_every_alert() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    assert set(re.findall(r"^### (Maar\w+)$", text, re.MULTILINE)) == {rule["alert"] for rule in rules}
    for path in DASHBOARDS:
        assert f"`{dashboard(path)['title']}`" in text
