"""Maar as a library: keywords are the options of the commands, and answers come apart into columns."""

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

import maar
from maar.cli.main import maar_app
from maar.core.model.columns import Columns

ROOT = Path(__file__).parents[2]
TEAMS = ROOT / "docs/examples/two-teams.yaml"
JOBS = ROOT / "examples/simulate/jobs.swf"
NOW = "2026-01-31T12:00:00Z"

# Options that choose the cluster, which is the first argument here, and how a command prints.
ONLY_OF_COMMANDS = {
    "plan": {"filename", "output", "resource"},
    "whatif": {"filename", "output", "kubeconfig", "context"},
    "simulate": {"out"},
}
FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "plan": maar.plan,
    "whatif": maar.whatif,
    "simulate": maar.simulate,
}
ANSWERS: Mapping[str, Callable[[], Columns]] = {
    "plan": lambda: maar.plan(ROOT / "examples/small", cycles=2),
    "whatif": lambda: maar.whatif(TEAMS, set={"queue/serving.weight": 3}, now=NOW, starts=2),
    "simulate": lambda: maar.simulate(JOBS, "4x16cpu,64Gi", config=["default", "fcfs"], most_jobs=20),
    "fair_shares": lambda: maar.fair_shares({"cpu": 4, "memory": "8Gi"}, {"a": {"request": {"cpu": 8}}}),
}


def options(command: str) -> dict[str, object]:
    """The defaults of a command's options, by the names of their long flags as keywords."""
    group: Any = typer.main.get_command(maar_app)
    named = {}
    for option in group.loaded(command).params:
        long = next(flag for flag in option.opts if flag.startswith("--"))
        named[long.removeprefix("--").replace("-", "_")] = option.default
    return named


@pytest.mark.parametrize("command", FUNCTIONS)
def test_the_options_of_a_command_are_the_keywords_of_its_function(command: str) -> None:
    offered, parameters = options(command), inspect.signature(FUNCTIONS[command]).parameters
    assert offered.keys() >= ONLY_OF_COMMANDS[command]
    assert offered.keys() - ONLY_OF_COMMANDS[command] == parameters.keys() - {"source"}
    for name in offered.keys() - ONLY_OF_COMMANDS[command]:
        default = parameters[name].default
        assert default == offered[name] or not (default or offered[name]), name  # None, "" or () alike


def test_options_of_traces_say_what_is_wrong_as_the_command_does() -> None:
    with pytest.raises(maar.SimulationError, match=r"^memory_per_processor: .*; write it as 2Gi$"):
        maar.simulate(JOBS, "4x16cpu,64Gi", memory_per_processor="2x")
    with pytest.raises(maar.SimulationError, match=r"^start: 'soon' is not a time; write it as 2026"):
        maar.simulate(JOBS, "4x16cpu,64Gi", start="soon")
    with pytest.raises(maar.SimulationError, match="processors_per_pod is 0: it must be 1 or more"):
        maar.simulate(JOBS, "4x16cpu,64Gi", processors_per_pod=0)
    with pytest.raises(maar.PlanError, match=r"^child_capability: 'least' is not one of sum, max$"):
        maar.whatif(TEAMS, drain="node-1", child_capability="least")


def test_a_trace_is_read_by_the_options_of_the_command() -> None:
    read = maar.simulate(
        JOBS, "4x16cpu,64Gi", processors_per_pod=4, namespace_per_user=True, start=NOW, most_jobs=7
    )["default"].jobs
    assert len(read.job) == 7
    assert read.submitted[0] == 1_769_860_800
    assert set(read.namespace) == {"team-0"}
    assert set(read.requests["cpu"].tolist()) <= {1000, 2000, 3000, 4000}


def test_admission_of_a_what_if_is_as_its_options_say() -> None:
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    task = {"name": "t", "replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    submitted = {**job, "spec": {"tasks": [task]}}
    assert maar.whatif(TEAMS, submit=submitted, now=NOW).jobs.job
    with pytest.raises(maar.BadChangeError, match="2"):
        maar.whatif(TEAMS, submit=submitted, now=NOW, max_job_pods=2)


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_comes_apart_into_columns_of_equal_length(question: str) -> None:
    for name, table in ANSWERS[question]().to_dict().items():
        assert len({len(column) for column in table.values()}) == 1, name
        assert all(isinstance(column, str) for column in table)


def test_columns_say_what_the_answer_says() -> None:
    planned = maar.plan(ROOT / "examples/small", cycles=2)
    tables = planned.to_dict()
    assert dict(zip(tables["binds"]["pod"], tables["binds"]["node"], strict=True)) == planned.binds
    assert tables["evictions"]["pod"] == [eviction.pod for eviction in planned.evictions]
    assert dict(zip(tables["waits"]["group"], tables["waits"]["why"], strict=True)) == planned.waits
    simulated = maar.simulate(JOBS, "4x16cpu,64Gi", config=["default", "fcfs"], most_jobs=20)
    jobs = simulated.to_dict()["jobs"]
    assert jobs["policy"] == ["default"] * 20 + ["fcfs"] * 20
    assert jobs["wait_s"].tolist()[20:] == simulated["fcfs"].jobs.wait.tolist()
    shares = maar.fair_shares({"cpu": 4, "memory": "8Gi"}, {"a": {"request": {"cpu": 8}}})
    table = shares.to_dict()["queues"]
    of_a = [row for row, name in enumerate(table["queue"]) if name == "a"]
    assert {table["resource"][row]: table["deserved"][row] for row in of_a} == dict(shares["a"].deserved)


@pytest.mark.parametrize("question", ANSWERS)
@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("pyarrow", "to_arrow")])
def test_tables_of_other_libraries_have_the_same_columns(question: str, library: str, method: str) -> None:
    pytest.importorskip(library)
    answer = ANSWERS[question]()
    made = getattr(answer, method)()
    for name, table in answer.to_dict().items():
        columns = made[name].to_dict("list") if library == "pandas" else made[name].to_pydict()
        assert repr(columns) == repr({key: list(map(_plain, column)) for key, column in table.items()})


@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("pyarrow", "to_arrow")])
def test_a_library_that_is_not_installed_is_named(
    library: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as imports of what is not there behave
    with pytest.raises(ImportError, match=rf"{library} is not installed: pip install {library}, or use to_d"):
        getattr(ANSWERS["plan"](), method)()


def _plain(value: Any) -> object:  # noqa: ANN401  # a scalar of NumPy, or of Python
    return value.item() if hasattr(value, "item") else value
