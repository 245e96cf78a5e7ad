"""What the commands for jobs, cron jobs and flows print, word for word; MAAR_GOLDEN=write writes it anew."""

import shlex
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
import yaml

from maar.cli.cron_and_flow import CRONS, FLOWS, TEMPLATES
from maar.cli.job.commands import JOBS, PODS
from maar.cli.job.starts import table_with
from maar.cli.tables import Rows, ShownKind
from maar.cli.vcctl import columns
from maar.cli.vcctl.describe import describe
from maar.cli.views import group_of
from maar.core.answers.future import Start
from maar.core.model.cron_job import CronJob
from maar.core.model.job import Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.pod_group import PodGroup
from maar.core.views.drawing import Line, plain
from maar.core.views.flow_text import CronView, FlowView, cron_lines, flow_lines
from maar.core.views.job_summary import EventSummary, PodSummary
from maar.core.views.job_text import JobView, job_lines
from support.commands import Run, run
from support.golden import GOLDEN, compare

__all__ = ["run"]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
DOCUMENTS = list(yaml.safe_load_all((GOLDEN / "job-objects.yaml").read_text(encoding="utf-8")))

T = TypeVar("T", bound=Object)


def objects(kind: type[T]) -> list[T]:
    name = (kind.api_version, kind.kind_name())
    return [from_document(kind, one) for one in DOCUMENTS if (one["apiVersion"], one["kind"]) == name]


def one(kind: type[T], name: str) -> T:
    return next(found for found in objects(kind) if found.metadata.name == name)


def text(lines: Iterable[Line]) -> str:
    return "".join(f"{plain(line)}\n" for line in lines)


@pytest.mark.parametrize(
    ("golden", "table"),
    [
        ("job-list", JOBS),
        ("pod-list", PODS),
        ("cron-list", CRONS),
        ("flow-list", FLOWS),
        ("flow-templates", TEMPLATES),
    ],
)
@pytest.mark.parametrize("output", [None, "wide", "name"])
def test_rows_of_a_list(
    golden: str,
    table: ShownKind[Any],
    output: Any,  # noqa: ANN401  # a value of Output
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maar.cli.tables.time.time", lambda: NOON)
    Rows(table, objects(table.kind), output, with_namespace=output == "wide")
    compare(f"{golden}{f'-{output}' if output else ''}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("output", [None, "wide"])
def test_rows_of_a_list_with_planned_starts(
    output: Any,  # noqa: ANN401  # a value of Output
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maar.cli.tables.time.time", lambda: NOON)
    jobs = objects(Job)
    depends = "It depends on 1 pod that has only a deadline (ml/prepare-0)."
    starts = [
        Start(NOON + 1800.2, "exact", "", "no node has room for cpu 4"),
        Start(NOON + 5400, "bound", depends, "queue research is at its fair share"),
        Start(None, "unknown", "It does not start when others end: no node has room for cpu 400."),
    ]
    found = {group_of(job): start for job, start in zip(jobs, starts, strict=False)}
    Rows(table_with(found), jobs, output, with_namespace=output == "wide")
    compare(f"job-list-start{f'-{output}' if output else ''}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["train", "nightly-of-the-data-platform", "sweep", "unseen", "leaving"])
def test_one_job(name: str) -> None:
    is_train = name == "train"
    view = JobView(
        one(Job, name),
        objects(PodGroup)[0] if is_train else None,
        objects(PodSummary) if is_train else [],
        objects(EventSummary) if is_train else [],
    )
    drawn = text(job_lines(view, NOON))
    assert max(map(len, drawn.splitlines())) <= 100
    compare(f"job-view-{name.partition('-')[0]}.txt", drawn)


def test_a_job_of_many_pods_says_how_many_more_there_are() -> None:
    pod = objects(PodSummary)[0]
    drawn = text(job_lines(JobView(one(Job, "sweep"), None, [pod] * 60, []), NOON))
    assert "and 10 more; maar pod list -j sweep has them all" in drawn


@pytest.mark.parametrize("name", ["pipeline", "fresh"])
def test_one_flow(name: str) -> None:
    jobs = [job for job in objects(Job) if job.metadata.name.startswith(f"{name}-")]
    compare(f"flow-view-{name}.txt", text(flow_lines(FlowView(one(JobFlow, name), jobs, []), NOON)))


@pytest.mark.parametrize("name", ["hourly", "never"])
def test_one_cron_job(name: str) -> None:
    jobs = [job for job in objects(Job) if job.metadata.name.startswith(f"{name}-")]
    compare(f"cron-view-{name}.txt", text(cron_lines(CronView(one(CronJob, name), jobs, []), NOON)))


@pytest.mark.parametrize(
    ("golden", "print_it"),
    [
        ("vcctl-job-list", lambda: columns.JOBS.table(objects(Job), with_namespace=False)),
        ("vcctl-job-list-all", lambda: columns.JOBS.table(objects(Job), with_namespace=True)),
        ("vcctl-job-view", lambda: describe(DOCUMENTS[0], objects(EventSummary), NOON)),
        ("vcctl-job-view-unseen", lambda: describe(DOCUMENTS[3], [], NOON)),
        ("vjobs-view", lambda: describe(DOCUMENTS[0], [], NOON, with_conditions=False)),
        ("vcctl-pod-list", lambda: columns.PODS.table(objects(PodSummary), NOON, with_namespace=False)),
        ("vcctl-pod-list-all", lambda: columns.PODS.table(objects(PodSummary), NOON, with_namespace=True)),
        ("vcctl-jobflow-list", lambda: columns.FLOWS.table(objects(JobFlow), NOON)),
        ("vcctl-jobtemplate-list", lambda: columns.TEMPLATES.table(objects(JobTemplate), NOON)),
    ],
)
def test_volcanos_columns(golden: str, print_it: Callable[[], str]) -> None:
    compare(f"{golden}.txt", print_it() + "\n")


@pytest.mark.parametrize(
    "command",
    [
        "maar", "maar job", "maar job run", "maar job list", "maar job logs", "maar pod", "maar cron",
        "maar flow", "maar whatif",
        "vcctl", "vcctl job", "vcctl job run", "vcctl pod", "vcctl jobflow", "vcctl jobtemplate",
        "vsub", "vjobs", "vcancel",
    ],
)  # fmt: skip
def test_help(command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ended = run(*shlex.split(command), "--help")
    assert (ended.code, ended.err) == (0, "")
    compare(f"help-{command.replace(' ', '-')}.txt", ended.out)
