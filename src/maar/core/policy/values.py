"""Values as people write them in a configuration: read strictly, refused with their path."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from typing import Final, TypeVar

from maar.core.model.durations import exact_seconds

LARGEST: Final = 2**31 - 1  # of any number here; weights times scores stay exact in a float

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_LONGEST: Final = 60  # letters that are shown, compared or read as a number

T = TypeVar("T")


class BadValueError(ValueError):
    """A value that is not what should stand there, with the sentence that says so."""


@dataclass(frozen=True)
class Remarks:
    """What is wrong with a document, and what is accepted but should be known."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """One place in a document: its path, its value, and where problems and remarks are collected."""

    path: str
    value: object
    remarks: Remarks

    def refuse(self, problem: str) -> None:
        """Note that this value is refused."""
        self.remarks.problems.append(f"{self.path}: {problem}" if self.path else problem)

    def warn(self, warning: str) -> None:
        """Note a remark for the author of the document."""
        self.remarks.warnings.append(f"{self.path}: {warning}")

    def refuse_unknown(self, what: str, name: str, supported: Collection[str]) -> None:
        """Refuse a name with what is supported, and with what was probably meant."""
        close = _closest(name, supported)
        hint = f": did you mean {close}?" if close else "."
        self.refuse(f"unknown {what} {yaml_text(name)}{hint} Supported: {', '.join(supported) or 'none'}")

    def read(self, reader: Callable[[object], T]) -> T | None:
        """Read the value; None where it is refused."""
        try:
            return reader(self.value)
        except BadValueError as error:
            self.refuse(str(error))
            return None

    def items(self) -> list["Entry"]:
        """The entries of a list."""
        if not isinstance(self.value, list | tuple):
            self.refuse(f"{yaml_text(self.value)} is not a list")
            return []
        return [Entry(f"{self.path}[{place}]", value, self.remarks) for place, value in enumerate(self.value)]

    def fields(self) -> dict[str, "Entry"]:
        """The entries of a map."""
        if not isinstance(self.value, Mapping):
            self.refuse(f"{yaml_text(self.value)} is not a map")
            return {}
        found = {}
        for key in self.value:
            if isinstance(key, str):
                found[key] = self.at(key)
            else:
                self.refuse(f"the key {yaml_text(key)} is not a text")
        return found

    def known_fields(self, known: Collection[str]) -> dict[str, "Entry"]:
        """The entries of a map that are set, null being unset; others than these are refused."""
        found = self.fields()
        for key, entry in found.items():
            if key not in known:
                entry.refuse_unknown("key", key, known)
        return {key: found[key] for key in known if key in found and found[key].value is not None}

    def at(self, key: str) -> "Entry":
        """The entry of a map under a key; null where there is none."""
        name = key if key.isprintable() and len(key) <= _LONGEST else yaml_text(key)
        value = self.value.get(key) if isinstance(self.value, Mapping) else None
        return Entry(f"{self.path}.{name}" if self.path else name, value, self.remarks)


def text(value: object) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise BadValueError(f"{yaml_text(value)} is not a text")
    return value


def scalar(value: object) -> object:
    """Read anything but a list or a map."""
    if isinstance(value, Mapping | list | tuple):
        raise BadValueError(f"{yaml_text(value)} is not a text")
    return value


def boolean(value: object) -> bool:
    """Read true or false, in quotes or not."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise BadValueError(f"{yaml_text(value)} is not true or false")


def number(value: object) -> Fraction:
    """Read a number exactly, in quotes or not."""
    exact = _exact(value)
    if exact is None:
        raise BadValueError(f"{yaml_text(value)} is not a number")
    return _in_range(value, exact, least=-LARGEST)


def whole(value: object) -> int:
    """Read a whole number that is 0 or more, in quotes or not."""
    exact = _exact(value)
    if exact is None or exact.denominator != 1:
        raise BadValueError(f"{yaml_text(value)} is not a whole number")
    return _in_range(value, exact).numerator


def positive(value: object) -> int:
    """Read a whole number that is 1 or more, in quotes or not."""
    read = whole(value)
    if not read:
        raise BadValueError(f"{yaml_text(value)} is less than 1: write a whole number from 1 on")
    return read


def duration(value: object) -> float:
    """Read a time span in seconds: 60s, 2m, 1h30m, or a number of seconds."""
    exact = _exact(value)
    if exact is None and isinstance(value, str) and len(value) <= _LONGEST:
        exact = exact_seconds(value)
    if exact is None:
        raise BadValueError(f"{yaml_text(value)} is not a duration: write 60s, 2m or a number of seconds")
    return float(_in_range(value, exact))


def positive_duration(value: object) -> float:
    """Read a time span that is more than nothing."""
    seconds = duration(value)
    if not seconds:
        raise BadValueError(f"{yaml_text(value)} is no time: it is more than 0, for example 24h or 30m")
    return seconds


def nonnegative_number(value: object) -> Fraction:
    """Read a number that is 0 or more, exactly."""
    exact = number(value)
    if exact < 0:
        raise BadValueError(f"{yaml_text(value)} is negative: it is 0 or more, for example 0.5 or 1")
    return exact


def ignored(_value: object) -> str:
    """Accept whatever is there, and keep nothing of it."""
    return ""


def names(value: object) -> tuple[str, ...]:
    """Read names with commas between them; one named twice counts once."""
    if not isinstance(value, str):
        raise BadValueError(f"{yaml_text(value)} is not a text of names with commas between them")
    return tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))


def yaml_text(value: object) -> str:
    """Write a value as it may stand in a sentence: as YAML has it, and never long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else value[:_LONGEST] + "...")
    if isinstance(value, int) and abs(value) > LARGEST**2:
        return "a very large number"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "a map"
    return "a list" if isinstance(value, list | tuple) else f"a value of type {type(value).__name__}"


def _exact(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float):
        return Fraction(repr(value)) if isfinite(value) else None
    if isinstance(value, str) and len(value) <= _LONGEST and _NUMBER.fullmatch(value):
        return Fraction(value)
    return None


def _in_range(value: object, exact: Fraction, least: int = 0) -> Fraction:
    if not least <= exact <= LARGEST:
        raise BadValueError(f"{yaml_text(value)} is out of range: it is {least} to {LARGEST}")
    return exact


def _closest(name: str, supported: Collection[str]) -> str | None:
    by_lower_case = {one.lower(): one for one in supported}
    close = get_close_matches(name.lower(), by_lower_case, n=1) if len(name) <= _LONGEST else []
    return by_lower_case[close[0]] if close else None
