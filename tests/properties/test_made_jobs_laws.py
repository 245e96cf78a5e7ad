"""Cron jobs and job flows under random lives: rounds that are cut short, restarts, deletions, ends of jobs.

A cron job starts no time twice and does not lose the latest one; a flow makes every job once, in
its order, as long as only jobs are deleted that its status has as completed.
"""

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from maar.core.controllers.cron_jobs import CronJobs
from maar.core.controllers.job_flows import JobFlows
from maar.core.model.cron_job import SCHEDULED_ANNOTATION
from maar.core.model.cron_schedule import times_of
from properties.made_job_lives import ENDS, START, STEPS, Life
from support.scenario_world import Json

BERLIN: Final = ZoneInfo("Europe/Berlin")
RUNS: Final = "*/7 * * * *"
TIMES: Final = times_of(RUNS, BERLIN, START)
FLOWS: Final = {"a": (), "b": ("a",), "c": ("b",), "d": ("b",), "e": ("c", "d")}
CRON: Final = ("CronJob", "default/c")
FLOW: Final = ("JobFlow", "default/f")


def cron_job(policy: str, deadline: int | None, limit: int) -> Json:
    spec: dict[str, Any] = {
        "schedule": RUNS,
        "timeZone": "Europe/Berlin",
        "concurrencyPolicy": policy,
        "successfulJobsHistoryLimit": limit,
        "failedJobsHistoryLimit": limit,
        "jobTemplate": {"spec": {}},
    }
    if deadline is not None:
        spec["startingDeadlineSeconds"] = deadline
    header = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob"}
    return {**header, "metadata": {"name": "c"}, "spec": spec}


def delete_recorded(life: Life, number: int) -> None:
    """Delete a finished job whose time is in the status; before that only the job itself knows of it."""
    jobs = life.jobs(unfinished=False)
    last = life.stored[CRON].get("status", {}).get("lastScheduleTime", "")
    if not jobs or not last:
        return
    key = jobs[number % len(jobs)]
    scheduled = life.stored["Job", key]["metadata"]["annotations"][SCHEDULED_ANNOTATION]
    if datetime.fromisoformat(scheduled) <= datetime.fromisoformat(last):
        life.remove("Job", key)


def kept(life: Life, *phases: str) -> int:
    found = [one for (kind, _), one in life.stored.items() if kind == "Job"]
    return sum(one.get("status", {}).get("state", {}).get("phase") in phases for one in found)


def name_of(time: datetime) -> str:
    return f"c-{int(time.timestamp()) // 60}"


@given(
    STEPS,
    st.sampled_from(("Allow", "Forbid", "Replace")),
    st.sampled_from((None, 30, 900)),
    st.integers(0, 2),
)
@example(
    [("wait", 420), ("round", 0b01), ("end", 0), ("round", 0b10)], "Allow", None, 0
)  # no status was written
def test_no_time_is_started_twice_and_the_latest_is_never_lost(
    steps: list[tuple[str, int]], policy: str, deadline: int | None, limit: int
) -> None:
    life = Life(CronJobs(lambda _: BERLIN), cron_job(policy, deadline, limit))
    for step, number in [*steps, ("rest", 0)]:
        before, jobs = len(life.made), life.jobs(unfinished=True)
        life.happen(step, number)
        if step == "end" and jobs:
            life.end(jobs[number % len(jobs)], ENDS[number % len(ENDS)])
        if step == "delete":
            delete_recorded(life, number)
        assert policy != "Forbid" or len(life.jobs(unfinished=True)) <= 1
        for name in life.made[before:]:
            due = TIMES.until(life.now)
            assert due is not None
            assert name == name_of(due)
            assert deadline is None or (life.now - due).total_seconds() < deadline + 1
    assert len(set(life.made)) == len(life.made)
    due = TIMES.until(life.now)
    is_in_time = due is not None and (deadline is None or (life.now - due).total_seconds() <= deadline)
    waits = policy == "Forbid" and bool(life.jobs(unfinished=True))
    if due is not None and due > START and is_in_time and not waits:
        assert life.made[-1] == name_of(due)
    assert kept(life, "Completed") <= limit
    assert kept(life, "Failed", "Terminated", "Aborted") <= limit


def flow_documents() -> list[Json]:
    header = {"apiVersion": "flow.volcano.sh/v1alpha1"}
    spec = {"queue": "q"}
    templates = [
        {**header, "kind": "JobTemplate", "metadata": {"name": name}, "spec": spec} for name in FLOWS
    ]
    flows = [{"name": name, "dependsOn": {"targets": list(targets)}} for name, targets in FLOWS.items()]
    return [*templates, {**header, "kind": "JobFlow", "metadata": {"name": "f"}, "spec": {"flows": flows}}]


@given(STEPS)
def test_a_flow_makes_every_job_once_and_in_its_order(steps: list[tuple[str, int]]) -> None:
    life = Life(JobFlows(), *flow_documents())
    completed = set[str]()
    for step, number in [*steps, *[("rest", 0), ("end", 0)] * len(FLOWS), ("rest", 0)]:
        before, jobs = len(life.made), life.jobs(unfinished=step != "delete")
        job = jobs[number % len(jobs)] if jobs else ""
        life.happen(step, number)
        if step == "end" and job:
            life.end(job, "Completed")
            completed.add(job.removeprefix("default/f-"))
        status = life.stored[FLOW].get("status", {})
        if step == "delete" and job.removeprefix("default/") in status.get("completedJobs", []):
            life.remove("Job", job)
        for name in life.made[before:]:
            assert set(FLOWS[name.removeprefix("f-")]) <= completed
    assert sorted(life.made) == [f"f-{name}" for name in FLOWS]
    assert life.stored[FLOW]["status"]["state"]["phase"] == "Succeed"
