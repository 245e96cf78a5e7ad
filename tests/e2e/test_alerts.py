"""The alerts of the chart, by the real promtool: each fires when it should and only then."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from support.needs_kubernetes import needs_prometheus
from support.prometheus import MONITORING, promtool

RULES: Final = MONITORING / "alerts.yaml"
CASES: Final = Path(__file__).with_name("alert_cases.yaml")


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_promtool_finds_nothing_wrong_with_them() -> None:
    needs_prometheus()
    assert f"SUCCESS: {len(alerts())} rules found" in promtool("check", "rules", str(RULES))


def test_each_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    needs_prometheus()
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    cases["rule_files"] = [str(RULES)]
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump(cases))
    assert "SUCCESS" in promtool("test", "rules", str(file))


@pytest.mark.parametrize("alert", [one["alert"] for one in alerts()])
def test_there_is_a_case_in_which_it_fires_and_one_in_which_it_does_not(alert: str) -> None:
    tests = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    asked = [one for one in tests if one["name"].startswith(f"{alert} ")]
    for one in asked:
        assert all(f'alertname="{alert}"' in query["expr"] for query in one["promql_expr_test"])
    fires = [any(query.get("exp_samples") for query in one["promql_expr_test"]) for one in asked]
    assert set(fires) == {True, False}
    assert [" does not fire " in one["name"] for one in asked] == [not one for one in fires]


def test_each_says_what_is_wrong_and_what_to_do() -> None:
    for one in alerts():
        annotations = one["annotations"]
        assert annotations.keys() == {"summary", "action"}
        assert all(text.endswith(".") for text in annotations.values()), one["alert"]
        assert one["labels"]["severity"] in ("warning", "critical")
