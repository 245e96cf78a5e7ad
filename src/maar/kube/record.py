"""Kubernetes events: repeated ones are counted, and no caller waits for them."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Final, Literal, NamedTuple, Self

from maar.core.model.metadata import Object
from maar.core.model.workload import Workload
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Gone, Outcome
from maar.kube.paths import EVENTS
from maar.kube.write import create, patch
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers

Severity = Literal["Normal", "Warning"]

MOST_WAITING: Final = 50_000  # a kilobyte each; binds go first, so those of a great burst may all wait
MOST_REMEMBERED: Final = 4_096
LONGEST_MESSAGE: Final = 1_024  # characters, which is what Kubernetes takes
LONGEST_NAME: Final = 200  # characters of the object's name in the name of its event


class Reference(NamedTuple):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def to(cls, about: Object) -> Self:
        """Refer to an object of the model."""
        metadata = about.metadata
        kind = about.kind if isinstance(about, Workload) else type(about).__name__
        return cls(about.api_version, kind, metadata.namespace, metadata.name, metadata.uid)


class _Statement(NamedTuple):
    about: Reference
    reason: str
    message: str
    severity: Severity


@dataclass
class _Tally:
    """How often and when an event was recorded and, once it is written, its key."""

    count: int
    first: str
    last: str
    key: str = ""


class Recorder:
    """Writes events about objects, for `kubectl describe`; one that cannot be written is dropped."""

    def __init__(
        self, server: ApiServer, writers: Writers, component: str, instance: str, failures: WriteFailures
    ) -> None:
        self._server, self._writers, self._failures = server, writers, failures
        self._component, self._instance = component, instance
        self._waiting: dict[_Statement, _Tally] = {}
        self._written: OrderedDict[_Statement, _Tally] = OrderedDict()
        self._last_number = 0
        self.dropped = 0

    def record(self, about: Reference, reason: str, message: str, severity: Severity = "Normal") -> None:
        """Queue an event; one that is recorded again before it is written is counted."""
        statement, now = _Statement(about, reason, message[:LONGEST_MESSAGE], severity), _now()
        tally = self._waiting.get(statement)
        if tally is not None:
            tally.count, tally.last = tally.count + 1, now
        elif len(self._waiting) < MOST_WAITING:
            self._waiting[statement] = _Tally(1, now, now)
            self._writers.submit(
                statement, partial(self._write, statement), partial(self._settle, statement.about)
            )
        else:
            self.dropped += 1

    async def _write(self, statement: _Statement) -> Outcome:
        tally = self._waiting.pop(statement)
        before = self._written.pop(statement, None)
        if before is not None:
            tally.key, tally.first, tally.count = before.key, before.first, before.count + tally.count
            change = {"count": tally.count, "lastTimestamp": tally.last}
            outcome = await patch(self._server, EVENTS, tally.key, change)
            if not isinstance(outcome, Gone):
                return self._remember(statement, tally, outcome)
        tally.key = self._new_key(statement.about)
        outcome = await create(self._server, EVENTS, tally.key, self._document(statement, tally))
        return self._remember(statement, tally, outcome)

    def _remember(self, statement: _Statement, tally: _Tally, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Done):
            self._written[statement] = tally
            if len(self._written) > MOST_REMEMBERED:
                self._written.popitem(last=False)
        return outcome

    def _settle(self, about: Reference, outcome: Outcome) -> None:
        self._failures.answered("Record", "Event", f"{about.namespace}/{about.name}", outcome)
        if not isinstance(outcome, Done):
            self.dropped += 1

    def _new_key(self, about: Reference) -> str:
        self._last_number = max(time.time_ns(), self._last_number + 1)
        start = about.name[:LONGEST_NAME].rstrip("-.")
        return f"{about.namespace or 'default'}/{start}.{self._last_number:x}"

    def _document(self, statement: _Statement, tally: _Tally) -> dict[str, object]:
        about = statement.about
        namespace, name = EVENTS.split(tally.key)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "reason": statement.reason,
            "message": statement.message,
            "type": statement.severity,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": tally.first,
            "lastTimestamp": tally.last,
            "count": tally.count,
        }


def _now() -> str:
    return _written(int(time.time()))


@lru_cache(maxsize=1)  # thousands may be recorded in one second
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
