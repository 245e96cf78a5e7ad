"""`maar.plan`: from paths and objects, with values that print well."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

import maar
from maar.core.answers.plan.answer import Planned

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "examples/small"


def documents() -> list[dict[str, object]]:
    return [
        one for file in sorted(SMALL.glob("*.yaml")) for one in yaml.safe_load_all(file.read_text()) if one
    ]


@pytest.mark.parametrize("source", [SMALL, str(SMALL), "documents"], ids=["path", "text", "documents"])
def test_a_path_and_objects_give_the_same_plan(source: str | Path) -> None:
    planned = maar.plan(documents() if source == "documents" else source)
    assert isinstance(planned, Planned)
    text = str(planned).replace("text(wide=True)", "-o wide")
    assert text == (ROOT / "tests/golden/plan-small.txt").read_text(encoding="utf-8").rstrip("\n")


def test_it_is_the_plan_that_the_command_prints() -> None:
    command = [f"{sys.prefix}/bin/maar", "plan", "-f", str(SMALL), "-o", "yaml", "--cycles", "2"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert yaml.safe_load(printed) == maar.plan(SMALL, cycles=2).data()


def test_several_cycles_are_a_sequence_and_print_with_titles() -> None:
    planned = maar.plan(SMALL, cycles=3)
    assert len(planned) == 3
    assert planned[0] == maar.plan(SMALL)[0]
    assert len(planned[1:]) == 2
    assert "=== Cycle 3 of 3 ===" in str(planned)
    assert planned.binds.keys() >= {"data/nightly-0"}
    assert repr(planned).startswith("<Planned: 3 cycles, ")


def test_a_notebook_shows_it_in_colour_and_escaped() -> None:
    html = maar.plan(SMALL)._repr_html_()  # as notebooks call it
    assert html.startswith("<pre>QUEUE ")
    assert '<span style="color: darkorange">▓' in html
    assert "<script" not in maar.plan([*documents(), {"kind": "<script>"}])._repr_html_()


def test_a_configuration_is_data_a_file_or_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue, allocate\n")
    for config in (file, {"actions": "enqueue, allocate"}):
        assert maar.plan(SMALL, config=config).evictions == ()
    with pytest.raises(maar.PlanError, match="the configuration: actions: unknown action 'alocate'"):
        maar.plan(SMALL, config={"actions": "enqueue, alocate"})


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nowhere", "nowhere: there is no such file or folder"),
        ([], "there is nothing to plan with: found no object"),
        (
            [{"kind": "Deployment", "apiVersion": "apps/v1"}],
            "there is nothing to plan with: found Deployment",
        ),
        ([{"a": 1}], "object 1: not an object of Kubernetes: it has no kind"),
        ([7], "object 1: not an object of Kubernetes: it has no kind"),
    ],
)
def test_what_cannot_be_planned_is_a_sentence(source: object, sentence: str) -> None:
    with pytest.raises(maar.PlanError, match=sentence):
        maar.plan(source)  # type: ignore[arg-type]  # as somebody may call it


def test_time_is_the_caller_s() -> None:
    assert maar.plan(SMALL, now=datetime(2026, 1, 1, tzinfo=UTC))[0].queues


def test_importing_maar_does_not_import_the_command_line() -> None:
    code = "import sys, maar; sys.exit('typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="has no attribute 'plann'"):
        maar.plann  # noqa: B018  # the attribute is what is tested


def test_a_misspelt_kind_is_an_error_with_what_was_meant() -> None:
    version = "scheduling.volcano.sh/v1beta1"
    with pytest.raises(maar.PlanError, match=rf"object 1: .*did you mean apiVersion: {version}, kind: Queue"):
        maar.plan([{"apiVersion": version, "kind": "queue", "metadata": {"name": "q"}}])
