"""Arguments of job plugins, written as flags of Go programs: -x, --x, -x=v, --x=v, and -x v.

Admission refuses what cannot be read. A job that was stored all the same runs: what cannot be read
is passed over, and its flag has the default.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from maar.core.job_plugins.plugin import PluginJob
from maar.core.model.whole_numbers import whole_number

FlagValue = str | int | bool

_LARGEST_PORT: Final = 65535
_LARGEST_SECONDS: Final = 2**31 - 1
_LONGEST_SHOWN: Final = 64
_PATH: Final = re.compile(r"/[^:\0]*")
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class Flag(NamedTuple):
    """A flag, its default, and how its value is read."""

    name: str
    default: FlagValue
    wants: str  # what its value is, in a sentence
    read: Callable[[str], FlagValue | None]  # None: it cannot be read


def text(name: str, default: str, wants: str = "a text") -> Flag:
    """A flag with any text but the empty one."""
    return Flag(name, default, wants, lambda value: value or None)


def path(name: str, default: str) -> Flag:
    """A flag with a path at which something can be mounted."""
    return Flag(name, default, "an absolute path without ':'", lambda value: _PATH.fullmatch(value) and value)


def task(name: str) -> Flag:
    """A flag that names a task, by default the task of the same name."""
    return text(name, name, "the name of a task")


def switch(name: str, default: bool) -> Flag:  # noqa: FBT001  the default of a switch is a boolean
    """A flag that is true where it stands alone."""
    return Flag(name, default, "true or false", _BOOLEANS.get)


def port(name: str, default: int) -> Flag:
    """A flag with the number of a port."""
    return Flag(
        name, default, f"a port from 1 to {_LARGEST_PORT}", lambda value: _within(value, 1, _LARGEST_PORT)
    )


def seconds(name: str, default: int) -> Flag:
    """A flag with a number of seconds."""
    return Flag(name, default, "a whole number of seconds", lambda value: _within(value, 0, _LARGEST_SECONDS))


@dataclass(frozen=True)
class Arguments:
    """The values of all flags of a plugin, and what was wrong with the arguments."""

    values: Mapping[str, FlagValue]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()  # about flags that have no effect

    def text(self, name: str) -> str:
        """The value of a flag as a text."""
        return str(self.values[name])

    def number(self, name: str) -> int:
        """The value of a flag that is a number."""
        return int(self.values[name])

    def is_on(self, name: str) -> bool:
        """The value of a switch."""
        return bool(self.values[name])


@dataclass(frozen=True, eq=False)  # one for each plugin, found by identity in the cache
class Flags:
    """The flags of a plugin."""

    plugin: str
    known: tuple[Flag, ...] = ()
    instead: Mapping[str, str] = field(
        default_factory=dict
    )  # flags that Volcano had once, or documents and ignores: what to write

    def read(self, arguments: tuple[str, ...]) -> Arguments:
        """Read arguments; the same ones are read once."""
        return _read(self, arguments)

    def unknown_tasks(self, job: PluginJob, arguments: tuple[str, ...], *names: str) -> Iterator[str]:
        """Flags that name a task which the job does not have; a default may name one that is not there."""
        read = self.read(arguments)
        for name in names:
            wanted = read.text(name)
            if wanted != name and job.task(wanted) is None:
                yield self.no_task(job, name, wanted)

    def no_task(self, job: PluginJob, flag: str, wanted: str) -> str:
        """Say that the job has no task of the name that a flag has."""
        tasks = _listed([one.name for one in job.tasks])
        what = f"{self.plugin} needs the task {shown(wanted)}, and the job has {tasks}"
        return f"{what}; set --{flag} to one of them"


def shown(value: str) -> str:
    """A text of a user's in a sentence."""
    return f'"{value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}..."}"'


@lru_cache(maxsize=1024)
def _read(flags: Flags, arguments: tuple[str, ...]) -> Arguments:
    values = {one.name: one.default for one in flags.known}
    known = {one.name: one for one in flags.known}
    problems, remarks = list[str](), list[str]()
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        flag = known.get(name) if argument.startswith("-") else None
        if flag is None and argument.startswith("-") and name in flags.instead:
            remarks.append(f"{flags.plugin} has no flag --{name}, and ignores it; {flags.instead[name]}")
            continue
        if flag is None:
            problems.append(_unknown(flags, argument))
            continue
        if not equals:
            value = "true" if isinstance(flag.default, bool) else next(left, "")
        read = flag.read(value)
        if read is None:
            problems.append(
                f"{flags.plugin} wants {flag.wants} for --{name}, and {shown(value)} is none; correct it"
            )
        else:
            values[name] = read
    return Arguments(values, tuple(problems), tuple(remarks))


def _unknown(flags: Flags, argument: str) -> str:
    names = [f"--{one.name}" for one in flags.known]
    todo = f"its flags are {', '.join(names)}" if names else "it takes no arguments"
    if not argument.startswith("-"):
        return f"{flags.plugin} cannot read {shown(argument)}, which is no flag such as --name=value; {todo}"
    name = argument.removeprefix("-").removeprefix("-").partition("=")[0]
    return f"{flags.plugin} has no flag {shown(f'--{name}')}; {todo}"


def _within(value: str, least: int, most: int) -> int | None:
    number = whole_number(value)
    return number if number is not None and least <= number <= most else None


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(name[:_LONGEST_SHOWN] for name in names[:most]) or 'none'}{more}"
