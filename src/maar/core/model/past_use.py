"""Past use as the status of a queue has it, and the settings of the plugin that counts it.

Amounts are hours of use in Kubernetes' units: CPU-hours, GiB-hours of what is counted in bytes, and
hours of pieces. They are written as quantities with up to six decimals (`cpu: "12.5"`,
`memory: 48.25Gi`), and kept as they are written, so that a scheduler that starts goes on from the
very numbers that the last one had.

Anybody who may write the status of queues can write something else there. What is not as it should
be counts as no history at all.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from math import exp2, inf
from typing import Final

from maar.core.model.durations import exact_seconds
from maar.core.model.quantity import NANOS, BadQuantityError, parse
from maar.core.model.resources import is_bytes, units_in_one

Hours = Mapping[str, float]  # by resource

_GIB: Final = 2**30
_HOUR_S: Final = 3600.0
_DECIMALS: Final = 6
_SMALL: Final = 1000  # entries that are less than one part in so many are not written
_LARGEST: Final = 1e15  # hours
_MOST_RESOURCES: Final = 64
_MOST_NAMESPACES: Final = 20_000
_LONGEST_NAME: Final = 317  # of a resource: a domain, a slash and a name
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class Usage:
    """The settings of the plugin `usage`."""

    half_life_s: float = 24 * _HOUR_S
    strength: Fraction = Fraction(1)

    def decay(self, seconds: float) -> float:
        """What is left of past use after a time; a clock that was set back changes nothing."""
        return exp2(-max(0.0, seconds) / self.half_life_s)


@dataclass(frozen=True)
class History:
    """The past use of a queue and, of a leaf, of its namespaces, as of a time."""

    time: float
    usage: Usage
    used: Hours = field(default_factory=dict)
    namespaces: Mapping[str, Hours] = field(default_factory=dict)

    def at(self, time: float, usage: Usage) -> "History":
        """What is left of it at a later time."""
        left = usage.decay(time - self.time)
        return History(
            time,
            usage,
            {name: hours * left for name, hours in self.used.items()},
            {
                name: {one: hours * left for one, hours in used.items()}
                for name, used in self.namespaces.items()
            },
        )


def hours_of(resource: str, units: float, seconds: float = _HOUR_S) -> float:
    """The hours that whole units of a resource make in a time."""
    return units / (_GIB if is_bytes(resource) else units_in_one(resource)) * (seconds / _HOUR_S)


def rounded(hours: Hours) -> dict[str, float]:
    """Hours as they will be written; what is nothing then is left out."""
    found = {name: round(amount, _DECIMALS) for name, amount in hours.items()}
    return {name: amount for name, amount in found.items() if amount}


def large(hours: Hours, totals: Hours) -> dict[str, float]:
    """The entries that are at least a thousandth of the total of all siblings."""
    return {name: amount for name, amount in hours.items() if amount * _SMALL >= totals.get(name, 0.0)}


def totals_of(siblings: Iterable[Hours]) -> dict[str, float]:
    """What siblings have together, by resource."""
    totals: dict[str, float] = {}
    for hours in siblings:
        for name, amount in hours.items():
            totals[name] = totals.get(name, 0.0) + amount
    return totals


def history_data(history: History) -> dict[str, object]:
    """A history as it is written."""
    strength = float(history.usage.strength)
    return {
        "time": datetime.fromtimestamp(history.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "halfLife": half_life_text(history.usage),
        "strength": f"{strength:g}",
        **({"used": _quantities(history.used)} if history.used else {}),
        **(
            {"namespaces": {name: _quantities(hours) for name, hours in sorted(history.namespaces.items())}}
            if history.namespaces
            else {}
        ),
    }


def half_life_text(usage: Usage) -> str:
    """A half-life as people write it: 24h, 1h30m."""
    seconds = round(usage.half_life_s)
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or f"{usage.half_life_s:g}s"


def history_time(data: object) -> float:
    """The time of what is written; before all times where it has none."""
    try:
        return _time(data.get("time") if isinstance(data, Mapping) else None)
    except ValueError:
        return -inf


def read_history(data: object) -> History | None:
    """Read what is written; None where it is nothing that was written so."""
    if not isinstance(data, Mapping):
        return None
    time, half_life = data.get("time"), data.get("halfLife", "24h")
    strength, namespaces = data.get("strength", "1"), data.get("namespaces", {})
    if not isinstance(namespaces, Mapping) or len(namespaces) > _MOST_NAMESPACES:
        return None
    try:
        return History(
            _time(time),
            _usage(half_life, strength),
            _hours(data.get("used", {})),
            {_name(name): _hours(hours) for name, hours in namespaces.items()},
        )
    except ValueError:
        return None


def _quantities(hours: Hours) -> dict[str, str]:
    return {name: _quantity(name, amount) for name, amount in sorted(hours.items())}


def _quantity(resource: str, hours: float) -> str:
    number = f"{hours:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    return f"{number}Gi" if is_bytes(resource) else number


def _time(text: object) -> float:
    if not isinstance(text, str) or _TIME.fullmatch(text) is None:
        raise ValueError
    return datetime.fromisoformat(text).timestamp()


def _usage(half_life: object, strength: object) -> Usage:
    seconds = exact_seconds(half_life) if isinstance(half_life, str) else None
    if not seconds or not isinstance(strength, str | int | float):
        raise ValueError
    return Usage(float(seconds), Fraction(_nanos(str(strength)), NANOS))


def _hours(data: object) -> dict[str, float]:
    if not isinstance(data, Mapping) or len(data) > _MOST_RESOURCES:
        raise ValueError
    hours = {
        _name(name): _nanos(str(text)) for name, text in data.items() if isinstance(text, str | int | float)
    }
    if len(hours) < len(data):
        raise ValueError
    return rounded({name: nanos / (NANOS * (_GIB if is_bytes(name) else 1)) for name, nanos in hours.items()})


def _nanos(text: str) -> int:
    try:
        nanos = parse(text).nanos
    except BadQuantityError as error:
        raise ValueError from error
    if not 0 <= nanos <= _LARGEST * NANOS * _GIB:
        raise ValueError
    return nanos


def _name(name: object) -> str:
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        raise ValueError
    return name
