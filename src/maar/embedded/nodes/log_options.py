"""What `kubectl logs` asks for: which container, how much of its log, and in which form."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from maar.embedded.failures import Cause, bad_request, invalid

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False, "": False}


@dataclass(frozen=True)
class LogOptions:
    """The options of one request; None where nothing is asked for."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: datetime | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "LogOptions":
        """Read the options of a request; refuse what Kubernetes refuses."""
        options = cls(
            query.get("container", ""),
            _flag(query, "follow"),
            _flag(query, "previous"),
            _flag(query, "timestamps"),
            _number(query, "tailLines"),
            _number(query, "limitBytes"),
            _number(query, "sinceSeconds"),
            _time(query, "sinceTime"),
        )
        causes = [
            Cause(name, "FieldValueInvalid", f"Invalid value: {number}: must be greater than {least}")
            for name, number, smallest, least in (
                ("tailLines", options.tail_lines, 0, "or equal to 0"),
                ("limitBytes", options.limit_bytes, 1, "0"),
                ("sinceSeconds", options.since_seconds, 1, "0"),
            )
            if number is not None and number < smallest
        ]
        if options.since_seconds is not None and options.since_time is not None:
            message = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
            causes.append(Cause("", "FieldValueForbidden", message))
        if causes:
            raise invalid("PodLogOptions", "", "", causes)
        return options

    def since(self, now: float) -> bytes:
        """The stamp of the first line that is asked for; empty for all."""
        if self.since_seconds is not None:
            return stamp(now - self.since_seconds)
        return stamp(self.since_time.timestamp()) if self.since_time else b""


def stamp(seconds: float) -> bytes:
    """A time as lines of logs begin with it; later ones sort later."""
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{text}000Z".encode()


def _flag(query: Mapping[str, str], name: str) -> bool:
    text = query.get(name, "")
    if text.lower() not in _BOOLEANS:
        raise bad_request(f"{name}: {text!r} is not a truth value: write true or false")
    return _BOOLEANS[text.lower()]


def _number(query: Mapping[str, str], name: str) -> int | None:
    if name not in query:
        return None
    try:
        return int(query[name])
    except ValueError:
        raise bad_request(f"{name}: {query[name]!r} is not a whole number") from None


def _time(query: Mapping[str, str], name: str) -> datetime | None:
    if name not in query:
        return None
    try:
        time = datetime.fromisoformat(query[name])
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise bad_request(f"{name}: {query[name]!r} is not a time: write one like 2026-01-31T12:00:00Z")
    return time
