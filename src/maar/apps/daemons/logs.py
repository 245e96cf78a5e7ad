"""Logs on stderr: text lines or JSON lines; secrets are removed from both."""

import json
import logging
import math
import os
import re
import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Final, Literal

from maar.apps.scheduler.decision_log import DECISIONS

LogFormat = Literal["text", "json"]

HIDDEN: Final = "[hidden]"
_LIBRARIES: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "aiohttp")
_DEEPEST: Final = 6
_LARGEST_BITS: Final = 64
_COLOURS: Final = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}

# What every record has, or uvicorn gives it for a terminal; all else are fields given with `extra`.
_OWN: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"})

_SECRET_FIELD: Final = re.compile(r"(?i)token|passw|secret|authorization|credential|private|client.?key")
_SECRETS: Final = (
    (re.compile(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)"), HIDDEN),
    (re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]{6,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)(\bauthorization\W{1,6}basic\s+)[\w.~+/=-]+"), rf"\1{HIDDEN}"),
    (re.compile(r"\beyJ[\w-]{8,}(\.[\w-]*){1,4}"), HIDDEN),  # a service account's token, wherever it stands
    (re.compile(r"(://[^/\s:@]+:)[^/\s@]+@"), rf"\1{HIDDEN}@"),  # the password of a proxy
    (
        re.compile(r"(?i)((?:token|password|client-key-data)[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]+"),
        rf"\1{HIDDEN}",
    ),
)
_SAFE: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    ord("\t"): "\t",
    ord("\n"): "\n    ",  # whatever is in a message, it cannot pass for a line of its own
}


def set_up_logs(log_format: LogFormat, verbosity: int = 0) -> None:
    """Have everything logged in one way; of the libraries only what is a warning or worse.

    With verbosity 1 there is a line for every decision of the scheduler, with 2 one for every pod besides.
    """
    # Lines are made safe for terminals here and then coloured: they go past what would show the colours.
    handler = logging.StreamHandler(getattr(sys.stderr, "rich_proxied_file", sys.stderr))
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    handler.setFormatter(_JsonLines() if log_format == "json" else _Text(coloured=coloured))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    decisions = (logging.WARNING, logging.INFO, logging.DEBUG)
    logging.getLogger(DECISIONS).setLevel(decisions[min(verbosity, len(decisions) - 1)])
    for name in _LIBRARIES:
        library = logging.getLogger(name)
        library.handlers, library.propagate = [], True
        library.setLevel(logging.WARNING)


def blotted(text: str) -> str:
    """Replace what looks like a secret: tokens, passwords and private keys, anywhere in a text."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


class _Lines(logging.Formatter):
    """The parts of a record, safe to show whatever was logged: a log that fails hides what went wrong."""

    def time_of(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return time.replace("+00:00", "Z")

    def message_of(self, record: logging.LogRecord) -> str:
        try:
            return blotted(record.getMessage())
        except Exception as error:  # noqa: BLE001  see above
            return blotted(f"{_text(record.msg)} (its arguments do not fit: {_text(error)})")

    def exception_of(self, record: logging.LogRecord) -> str:
        try:
            raised = self.formatException(record.exc_info) if record.exc_info else record.exc_text or ""
            return blotted("\n".join(filter(None, (raised, record.stack_info))))
        except Exception as error:  # noqa: BLE001  see above
            return f"an exception that cannot be shown: {_text(error)}"

    def fields_of(self, record: logging.LogRecord) -> dict[str, object]:
        return {name: _field(name, value) for name, value in vars(record).items() if name not in _OWN}


class _JsonLines(_Lines):
    """A JSON object a line, in ASCII: so it is read as it was meant, whatever the encoding of the stream."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line."""
        line: dict[str, object] = {
            "time": self.time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.message_of(record),
        }
        if exception := self.exception_of(record):
            line["exception"] = exception
        for name, value in self.fields_of(record).items():
            line[f"{name}_" if name in line else name] = value
        return json.dumps(line, allow_nan=False)


class _Text(_Lines):
    """A line that people read; an exception comes below it, indented."""

    def __init__(self, *, coloured: bool) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """Give the line."""
        level = f"{record.levelname:<8}"
        if self._coloured:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        fields = "".join(f" {name}={value}" for name, value in self.fields_of(record).items())
        text = f"{record.name}: {self.message_of(record)}{fields}"
        if exception := self.exception_of(record):
            text += f"\n{exception}"
        line = f"{self.time_of(record)} {level} {text.translate(_SAFE)}"
        return line.encode(errors="backslashreplace").decode()  # half a character fits into no stream


def _field(name: str, value: object) -> object:
    try:
        return _plain(name, value)
    except Exception:  # noqa: BLE001  a mapping that cannot be read, or that changes meanwhile
        return blotted(_text(value))


def _plain(name: str, value: object, depth: int = 0) -> object:
    """A value as JSON can write it; of one whose name says that it is a secret, nothing."""
    if _SECRET_FIELD.search(name):
        return HIDDEN
    if value is None or _is_short_number(value):
        return value
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {_text(key): _plain(_text(key), part, depth + 1) for key, part in value.items()}
    if depth < _DEEPEST and isinstance(value, list | tuple | AbstractSet):
        return [_plain("", part, depth + 1) for part in value]
    return blotted(_text(value))


def _is_short_number(value: object) -> bool:
    """Whether it is a number that JSON knows and Python writes."""
    if isinstance(value, int):
        return value.bit_length() <= _LARGEST_BITS
    return isinstance(value, float) and math.isfinite(value)


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001  anything can go wrong in the methods of others
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
