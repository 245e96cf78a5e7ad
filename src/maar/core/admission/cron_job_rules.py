"""Rules for cron jobs; an update is judged only by what it changes, so that any cron job can be suspended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from maar.core.admission import made_jobs
from maar.core.admission.case import Case
from maar.core.admission.plain import at, brief
from maar.core.admission.reading import read_spec
from maar.core.admission.request import CREATE, Problem
from maar.core.admission.rulebook import Rule, Rulebook, about_others
from maar.core.admission.server_rules import label_problems
from maar.core.model.cron_job import CronJob, CronJobSpec
from maar.core.model.cron_schedule import BadScheduleError, times_of

_LONGEST_NAME: Final = 52
_LARGEST: Final = 2**31 - 1
_SOME_MINUTE: Final = "12345678"  # the end of a job's name: minutes since 1970
_SOME_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)  # whether a schedule ever comes is the same at any time
_NUMBERS: Final = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_TEMPLATE: Final = "spec.jobTemplate"


@dataclass(frozen=True, eq=False)
class CronJobCase:
    """A cron job before the rules."""

    case: Case
    spec: CronJobSpec

    def has_new(self, field: str) -> bool:
        """Whether a field of the spec is written for the first time, or changes."""
        before, after = (at(one, "spec", field) for one in (self.case.old, self.case.new))
        return self.case.request.operation == CREATE or before != after

    @property
    def job(self) -> str:
        """The name of one of its jobs."""
        return f"{self.case.name}-{_SOME_MINUTE}"


def read_cron_job(case: Case) -> CronJobCase:
    """A cron job is what the API says: every field that Maar reads has its type."""
    return CronJobCase(case, read_spec(CronJob, case.new).spec)


def name(cron: CronJobCase) -> Iterator[Problem]:
    """The name of a cron job has at most 52 characters: those of its jobs are longer, and end at 63."""
    if len(cron.case.name) > _LONGEST_NAME:
        wrong = brief(cron.case.name)
        sentence = (
            f"is {wrong}, longer than {_LONGEST_NAME} characters, and job names are longer still; shorten it"
        )
        yield Problem("metadata.name", wrong, sentence)


def schedule(cron: CronJobCase) -> Iterator[Problem]:
    """A schedule is five fields, a descriptor such as @daily, or @every with an interval; and it comes."""
    if not cron.has_new("schedule"):
        return
    wrong = brief(cron.spec.schedule)
    try:
        times = times_of(cron.spec.schedule, UTC, _SOME_TIME)
    except BadScheduleError as error:
        yield Problem("spec.schedule", wrong, f"is {wrong}, which {error}")
        return
    if times.after(_SOME_TIME) is None:
        yield Problem(
            "spec.schedule", wrong, f"is {wrong}, a time that never comes; correct the day or the month"
        )


def time_zone(cron: CronJobCase) -> Iterator[Problem]:
    """A time zone is an IANA name; the zone of a machine is not known to others."""
    zones, asked = cron.case.options.time_zones, cron.spec.time_zone
    if asked and cron.has_new("timeZone") and (asked.lower() == "local" or (zones and asked not in zones)):
        wrong = brief(asked)
        sentence = f"is {wrong}, no time zone; write an IANA name such as Europe/Paris, or nothing for UTC"
        yield Problem("spec.timeZone", wrong, sentence)


def numbers(cron: CronJobCase) -> Iterator[Problem]:
    """The starting deadline and the limits of jobs that are kept are 0 or more."""
    for field in _NUMBERS:
        value = at(cron.case.new, "spec", field)
        if isinstance(value, int) and cron.has_new(field) and not 0 <= value <= _LARGEST:
            sentence = f"is {brief(value)}, should be greater than or equal to 0 and below 2^31; correct it"
            yield Problem(f"spec.{field}", brief(value), sentence)


def job_template(cron: CronJobCase) -> Iterator[Problem]:
    """Every job that is made from the template satisfies the rules of jobs; queues are looked at then."""
    if cron.has_new("jobTemplate"):
        template = at(cron.case.new, "spec", "jobTemplate")
        yield from label_problems(at(template, "metadata"), f"{_TEMPLATE}.metadata")
        yield from made_jobs.refusals(cron.case, cron.job, cron.spec.job_template.spec, f"{_TEMPLATE}.spec")


@about_others
def job_warnings(cron: CronJobCase) -> Iterator[Problem]:
    """What a job made now would be refused for because of its queue, and what it would be warned about."""
    yield from made_jobs.warnings(cron.case, cron.job, cron.spec.job_template.spec, f"{_TEMPLATE}.spec")


RULES: Final[Mapping[str, Rule[CronJobCase]]] = {
    "cronjob-name": name,
    "cronjob-schedule": schedule,
    "cronjob-time-zone": time_zone,
    "cronjob-number": numbers,
    "cronjob-job-template": job_template,
}
BOOK: Final = Rulebook(
    noun="cron job",
    read=read_cron_job,
    create=RULES,
    update=RULES,
    warnings={"cronjob-job-warning": job_warnings},
)
