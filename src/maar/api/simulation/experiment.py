"""A simulation from its inputs to its outcomes: jobs, a cluster and policies."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from maar.api.errors import InputError, why
from maar.api.simulation.inputs import TraceJobs
from maar.apps.snapshots.recorded_workload import recorded_moments, recorded_start
from maar.apps.snapshots.replay import BadRecordingError
from maar.core.answers.simulate.recorded_jobs import RecordedJobs
from maar.core.model.queue import Queue
from maar.core.policy.configuration import BadConfigurationError
from maar.core.simulation.experiment import (
    Cluster,
    JobSource,
    Outcome,
    PolicyRun,
    Submissions,
    SubmittedJobs,
    survey,
)
from maar.core.simulation.policies import Policy
from maar.core.traces.recordings import RecordedWorkload
from maar.core.traces.skips import TraceError

_MOST_NAMES: Final = 5  # of queues in a sentence


class Follower:
    """Who is told how far a simulation is, and what has come out; this one ignores it."""

    def begins(self, name: str, jobs: int | None) -> None:
        """A policy is simulated from now on; the number of jobs may not be known."""

    def is_at(self, ended: int) -> None:
        """So many jobs have ended."""

    def ends(self) -> None:
        """The policy has been simulated: its outcome is there."""


_SILENT: Final = Follower()


@dataclass(eq=False)
class Experiment:
    """Jobs, a cluster and policies; `notes` say what was left out or made up."""

    policies: Sequence[Policy]
    queues: Sequence[Queue]
    submissions: Callable[[Policy], Submissions]  # anew for every policy
    jobs: int | None  # None: that is not known before
    notes: list[str]
    outcomes: list[Outcome] = field(default_factory=list)  # of policies that have been simulated
    interrupted_by: str = ""

    def run(self, follower: Follower = _SILENT) -> None:
        """Simulate every policy; Ctrl-C or SIGTERM ends it with what there is until then."""
        for number, policy in enumerate(self.policies, start=1):
            run = PolicyRun(policy, self.submissions(policy), self.queues)
            try:
                follower.begins(policy.name, self.jobs)
                for ended in run.moments():
                    follower.is_at(ended)
                self._add(run.outcome())
                follower.ends()
            except KeyboardInterrupt as signal:
                self.interrupted_by = str(signal) or "Ctrl-C"
                outcome = run.outcome()
                self._add(outcome)
                self.notes.append(_interrupted(self.interrupted_by, outcome, self.policies[number:]))
                return

    def _add(self, outcome: Outcome) -> None:
        """Keep an outcome; one of the same policy that was there already is replaced."""
        self.outcomes = [before for before in self.outcomes if before.policy.name != outcome.policy.name]
        if outcome.jobs.job:
            self.outcomes.append(outcome)


def _interrupted(signal: str, outcome: Outcome, left: Sequence[Policy]) -> str:
    name, ended, came = outcome.policy.name, outcome.figures.ended, outcome.figures.jobs
    missing = f"; not simulated: {', '.join(policy.name for policy in left)}" if left else ""
    if outcome.is_whole:
        return f"stopped by {signal} after {name} had been simulated{missing}"
    return (
        f"stopped by {signal} while {name} was simulated: its figures are of the {came:,} jobs that "
        f"had come until then, of which {ended:,} had ended{missing}"
    )


def prepared(source: JobSource, cluster: Cluster, policies: Sequence[Policy]) -> Experiment:
    """Go through the jobs once; say what is left out, and which queues are made."""
    seen = survey(cluster, source())
    notes = list[str]()
    skips = source.skips if isinstance(source, TraceJobs) else None
    if skips is not None and skips.total:
        notes.append(f"{skips.total:,} of {skips.read:,} records are not simulated:")
        notes += skips.sentences()
    notes += [f"{count:,} jobs are left out: {why}" for why, count in seen.left_out.items()]
    if not seen.jobs:
        raise InputError("there is no job to simulate", *notes)
    if seen.missing:
        names = ", ".join(seen.missing[:_MOST_NAMES])
        more = f" and {len(seen.missing) - _MOST_NAMES} more" if len(seen.missing) > _MOST_NAMES else ""
        notes.append(f"queues that jobs name and --queues does not have get weight 1: {names}{more}")
    whole = cluster.with_queues(seen.missing)

    def submissions(policy: Policy) -> Submissions:
        return SubmittedJobs(whole, policy, source(), seen.start)

    return Experiment(policies, whole.queues, submissions, seen.jobs, notes)


def prepared_recording(file: Path, policies: Sequence[Policy] | None, queues: Sequence[Queue]) -> Experiment:
    """Read a recording once; without a policy it is simulated as it was configured."""

    def lines() -> Iterator[bytes]:
        with file.open("rb") as opened:
            yield from opened

    try:
        began = recorded_start(lines())
        workload = RecordedWorkload(lambda: recorded_moments(lines()), began.scheduler_name)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {why(error)}; name another file") from None
    except (BadRecordingError, TraceError) as error:
        raise InputError(f"{file}: {error}") from None
    except BadConfigurationError as error:
        raise InputError(*(f"{file}: its configuration: {problem}" for problem in error.problems)) from None
    totals, notes = workload.totals, list[str]()
    if totals.withdrawn:
        notes.append(f"{totals.withdrawn:,} pods are left out: they were deleted before they started")
    if totals.still_running:
        notes.append(
            f"{totals.still_running:,} pods still ran when the recording ended: they run for as long as they "
            "had until then"
        )
    if totals.never_started:
        notes.append(f"{totals.never_started:,} pods never started: they run for as long as they state")
    chosen = policies if policies is not None else [Policy("as-recorded", began.configuration)]
    for policy in chosen:
        if policy.one_queue is not None:
            raise InputError(
                f" {policy.name} is for traces of jobs: a recording has queues of its own; leave it out",
                option="config",
            )
    recorded = RecordedJobs(workload, queues).queues
    return Experiment(chosen, recorded, lambda _: RecordedJobs(workload, queues), None, notes)
