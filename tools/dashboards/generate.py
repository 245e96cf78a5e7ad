"""Writes the chart's Grafana dashboards from the pages beside this file; `--check` compares them.

A page has a title, variables, and panels: what a panel shows (`does`), what to do about it (`act`),
and its queries by legend. Everything that Grafana needs besides is the same for all panels and
stands here.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

HERE: Final = Path(__file__).parent
TARGET: Final = HERE.parents[1] / "deploy" / "chart" / "maar" / "monitoring" / "dashboards"
GRAFANA: Final = 39  # the version of the schema that these dashboards are in; newer Grafanas read it
COLUMNS: Final = 24  # of Grafana's grid
SIZES: Final = {"timeseries": (12, 8), "table": (24, 8), "stat": (12, 4)}
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}

Json = dict[str, Any]
Page = Mapping[str, Any]


def pages() -> dict[str, Page]:
    """The pages, by the name of their dashboards."""
    return {one.stem: yaml.safe_load(one.read_text(encoding="utf-8")) for one in sorted(HERE.glob("*.yaml"))}


def dashboard(page: Page) -> Json:
    """A page as Grafana reads it."""
    chosen = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    variables = [variable(name, query) for name, query in page.get("variables", {}).items()]
    return {
        "uid": page["uid"],
        "title": page["title"],
        "tags": ["maar"],
        "schemaVersion": GRAFANA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [chosen, *variables]},
        "panels": list(panels(page["panels"])),
    }


def variable(name: str, query: str) -> Json:
    """A choice at the top of a dashboard; Grafana asks for its values when the time range changes."""
    asked = {"query": query, "refId": name}
    return {"name": name, "type": "query", "datasource": SOURCE, "query": asked, "refresh": 2, "sort": 1}


def panels(described: Sequence[Page]) -> Iterator[Json]:
    """All panels, from left to right and down."""
    left = top = row_height = 0
    for number, one in enumerate(described, 1):
        kind = one.get("kind", "timeseries")
        width, height = SIZES[kind]
        if left + width > COLUMNS:
            left, top, row_height = 0, top + row_height, 0
        place = {"x": left, "y": top, "w": width, "h": height}
        left, row_height = left + width, max(row_height, height)
        yield panel(number, kind, place, one)


def panel(number: int, kind: str, place: Mapping[str, int], one: Page) -> Json:
    """One panel; its description says what it shows and what to do about it."""
    look: Json = {"stacking": {"mode": "normal"}, "fillOpacity": 20} if one.get("stacked") else {}
    made: Json = {
        "id": number,
        "type": kind,
        "title": one["title"],
        "description": f"{one['does']} {one['act']}",
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {"unit": one.get("unit", "short"), "min": 0, "custom": look},
            "overrides": [],
        },
        "targets": [
            target(chr(ord("A") + index), kind, legend, query)
            for index, (legend, query) in enumerate(one["queries"].items())
        ],
    }
    if kind == "table":
        columns = {f"Value #{chr(ord('A') + at)}": legend for at, legend in enumerate(one["queries"])}
        made["transformations"] = [
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": columns}},
        ]
    return made


def target(letter: str, kind: str, legend: str, query: str) -> Json:
    """One query of a panel."""
    at_once = {"instant": True, "format": "table"} if kind == "table" else {}
    return {"refId": letter, "datasource": SOURCE, "expr": query, "legendFormat": legend, **at_once}


def texts() -> dict[Path, str]:
    """Every dashboard's file and what it should say."""
    return {
        TARGET / f"{name}.json": json.dumps(dashboard(page), indent=1) + "\n"
        for name, page in pages().items()
    }


def main() -> int:
    """Write the files, or with --check compare them."""
    wanted = texts()
    there = {path: path.read_text(encoding="utf-8") for path in TARGET.glob("*.json")}
    if there == wanted:
        return 0
    if sys.argv[1:] == ["--check"]:
        print("dashboards: the chart's are not current; run python tools/dashboards/generate.py")
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    for path in there.keys() - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
