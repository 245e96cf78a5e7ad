"""Writes that fail: logged once for each cause, counted, and remembered for as long as they last.

A write that fails is tried again and again, and mostly for one cause: a permission that is missing,
a quota, a webhook, a server without space. One cause is one problem, however many objects and
attempts it spoils: two failures are the same problem where operation, kind and message are, apart
from the object's name and from numbers. A problem is logged when it begins and when it has ended.

A process cannot do its work where all writes of one operation on one kind fail for a while: at
least two objects, or one for a cause that is not the object's own. A single object that a webhook
or a quota refuses is no such case, and neither is what is refused because its namespace is being
deleted. A failure ends with its object, and with the one that it was to be written for. An object
that is not tried any more is forgotten: its controller wants something else by now.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple

from maar.kube.outcome import Outcome, Refused, Unanswered
from maar.kube.write import FENCED

_LOG: Final = logging.getLogger(__name__)

FORGOTTEN_S: Final = 60.0  # without another attempt; the longest pause between two is 30 s
_BEST_EFFORT: Final = ("Event",)  # without them the work goes on
_OTHER: Final = "Other"
_REASONS: Final = frozenset(  # Kubernetes' own; webhooks may say what they like, and a label may not
    {
        "AlreadyExists", "BadRequest", "Conflict", "Expired", "Forbidden", "Gone", "InsufficientStorage",
        "InternalError", "Invalid", "MethodNotAllowed", "NotAcceptable", "NotFound", "RequestEntityTooLarge",
        "ServerTimeout", "ServiceUnavailable", "Timeout", "TooManyRequests", "Unauthorized",
        "UnsupportedMediaType",
    }
)  # fmt: skip
_VERBS: Final = {
    "Create": "create",
    "Change": "change",
    "Remove": "delete",
    "SetStatus": "write the status of",
    "Bind": "bind",
    "Evict": "evict",
    "Nominate": "nominate a node for",
    "RemoveGate": "remove the scheduling gate of",
    "SelectNode": "select a node for",
    "BindVolume": "bind",
    "Record": "record events about",
}
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_NOT_PERMITTED: Final = re.compile(r" cannot \S+ resource ")  # the words of Kubernetes' authorizers


class _Work(NamedTuple):
    """An operation on a kind."""

    operation: str
    kind: str

    def __str__(self) -> str:
        return f"{_VERBS.get(self.operation, self.operation)} {self.kind}"


@dataclass
class _Failure:
    """An object that could not be written."""

    since: float
    last: float
    message: str
    problem: str
    is_general: bool  # the cause is not the object's own
    about: tuple[str, str]  # the kind and key of the object that it was written for


class WriteFailures:
    """Records every outcome of a write."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[_Work, dict[str, _Failure]] = {}
        self._succeeded: dict[_Work, float] = {}
        self.totals: Counter[tuple[str, str, str]] = Counter()  # by operation, kind and reason

    def answered(
        self, operation: str, kind: str, key: str, outcome: Outcome, about: tuple[str, str] = ("", "")
    ) -> bool:
        """Take note of an outcome; True where the write fails for another cause than the last time."""
        if isinstance(outcome, Refused) and outcome.reason == FENCED:
            return False  # this process ends
        work, now = _Work(operation, kind), self._clock()
        if isinstance(outcome, Refused) and outcome.is_of_ending_namespace:
            self._end(work, [key])
            return False
        if not isinstance(outcome, Refused | Unanswered):
            self._succeeded[work] = now
            self._end(work, [key])
            return False
        self.totals[operation, kind, _reason(outcome)] += 1
        self._forget(now)
        return self._fail(work, key, outcome, now, about)

    def object_gone(self, kind: str, key: str) -> None:
        """An object was deleted: what could not be written to it, or for it, has ended."""
        for work, found in list(self._failures.items()):
            place = (kind, key)
            self._end(work, [one for one, it in found.items() if place in ((work.kind, one), it.about)])

    def standing(self) -> dict[tuple[str, str], int]:
        """How many objects fail now, by operation and kind; 0 where some did before. For any thread."""
        oldest = self._clock() - FORGOTTEN_S
        known = {(operation, kind): 0 for operation, kind, _ in list(self.totals)}
        for work, found in list(self._failures.items()):
            known[work] = sum(one.last >= oldest for one in list(found.values()))
        return known

    def lasting(self, limit_s: float) -> Iterator[str]:
        """What cannot be done at all for so long, in sentences.

        What was tried only once may not be wanted any more.
        """
        now = self._clock()
        self._forget(now)
        for work, found in self._failures.items():
            if all(one.last == one.since for one in found.values()):
                continue
            began = max(min(one.since for one in found.values()), self._succeeded.get(work, 0.0))
            is_general = len(found) > 1 or any(one.is_general for one in found.values())
            if is_general and now - began >= limit_s and work.kind not in _BEST_EFFORT:
                last = max(found.values(), key=lambda one: one.last)
                yield f"it cannot {work} for {now - began:.0f} s, {len(found)} in all: {last.message}"

    def _fail(
        self, work: _Work, key: str, outcome: Refused | Unanswered, now: float, about: tuple[str, str]
    ) -> bool:
        found = self._failures.setdefault(work, {})
        problem = _problem(key, outcome.message)
        is_known = any(one.problem == problem for one in found.values())
        before = found.get(key)
        since = before.since if before is not None else now
        found[key] = _Failure(since, now, outcome.message, problem, _is_general(outcome), about)
        if not is_known:
            _LOG.warning("cannot %s %s: %s; it is tried again", work, key, outcome.message)
        return before is None or before.problem != problem

    def _end(self, work: _Work, keys: list[str]) -> None:
        found = self._failures.get(work, {})
        ended = [one.problem for key in keys if (one := found.pop(key, None)) is not None]
        left = {one.problem for one in found.values()}
        for problem in dict.fromkeys(ended):
            if problem not in left:
                _LOG.info("can %s again, or it is no longer needed: %s", work, problem)
        if not found:
            self._failures.pop(work, None)

    def _forget(self, now: float) -> None:
        for work, found in list(self._failures.items()):
            self._end(work, [key for key, one in found.items() if now - one.last > FORGOTTEN_S])


def _reason(outcome: Refused | Unanswered) -> str:
    if isinstance(outcome, Unanswered):
        return "Unanswered"
    return outcome.reason if outcome.reason in _REASONS else _OTHER


def _is_general(outcome: Refused | Unanswered) -> bool:
    """Whether the cause is not the object's own: no answer, no permission, an error of the server."""
    if isinstance(outcome, Unanswered) or outcome.code == HTTPStatus.UNAUTHORIZED:
        return True
    if outcome.code == HTTPStatus.FORBIDDEN:
        return bool(_NOT_PERMITTED.search(outcome.message))
    return outcome.code >= HTTPStatus.INTERNAL_SERVER_ERROR


def _problem(key: str, message: str) -> str:
    """A message without what differs from object to object and from attempt to attempt."""
    for name in filter(None, key.split("/")):
        message = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", "…", message)
    return _NUMBER.sub("0", message)
