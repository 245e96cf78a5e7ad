"""What callers give beside a cluster: configurations, times and texts, in several forms each."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path

from maar.api.errors import InputError, why
from maar.apps.daemons.configuration_text import parse_text
from maar.apps.plugins import find_job_plugins, find_plugins
from maar.apps.time_zones import names
from maar.core.admission.request import Options
from maar.core.policy.configuration import BadConfigurationError, Configuration, parse
from maar.parsing.limits import OBJECT

Config = str | PathLike[str] | Mapping[str, object] | Configuration | None


def configuration_of(given: Config) -> Configuration:
    """A configuration from a file or from data in Volcano's grammar; without one, the default."""
    if isinstance(given, Configuration):
        return given
    if isinstance(given, Mapping):
        try:
            return parse(dict(given), find_plugins())
        except BadConfigurationError as error:
            raise InputError(*(f"the configuration: {problem}" for problem in error.problems)) from None
    file = None if given is None else Path(fspath(given))
    try:
        return parse_text("" if file is None else _text(file))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {why(error)}; name another file") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: this is no text; name a file with a configuration in YAML") from None
    except BadConfigurationError as error:
        raise InputError(*(f"{file}: {problem}" for problem in error.problems)) from None


def time_of(given: datetime | str, option: str) -> datetime:
    """A time; one without a zone is in UTC."""
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise InputError(
            f": {given!r} is not a time; write it as 2026-01-31T12:00:00Z", option=option
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def texts_of(given: str | Iterable[str]) -> list[str]:
    """One text, or several."""
    return [given] if isinstance(given, str) else list(given)


def admission_options(  # as an administrator has them
    *,
    guarantee_over_total: str = "refuse",
    child_capability: str = "sum",
    max_queue_depth: int = 5,
    max_job_pods: int = 100_000,
    disable_job_plugin: Iterable[str] | None = None,
    scheduler_name: str = "volcano",
) -> Options:
    """What an administrator decides about admission."""
    for option, chosen, choices in (
        ("guarantee_over_total", guarantee_over_total, ("refuse", "warn")),
        ("child_capability", child_capability, ("sum", "max")),
    ):
        if chosen not in choices:
            raise InputError(f": {chosen!r} is not one of {', '.join(choices)}", option=option)
    return Options(
        scheduler_names=(scheduler_name,),
        guarantee_over_total="warn" if guarantee_over_total == "warn" else "refuse",
        child_capability="max" if child_capability == "max" else "sum",
        max_queue_depth=max_queue_depth,
        max_job_pods=max_job_pods,
        job_plugins=find_job_plugins().without(texts_of(disable_job_plugin or ())),
        time_zones=names(),
    )


def _text(file: Path) -> str:
    with file.open("rb") as opened:
        data = opened.read(4 * (OBJECT.characters + 1))  # no more than it takes to see that it is too much
    return data.decode("utf-8")
