"""Evictions that have happened: when, for whom and by which rule, as the scheduler's events say it."""

import re
from collections.abc import Collection, Iterable
from typing import Final

from maar.core.model.metadata import Record
from maar.core.views.job_summary import EventSummary

_REASON: Final = "Evict"
# As `core/reasons/sentences.py` says why, and `apps/scheduler/reports.py` says it of a pod or of its group.
_MESSAGE: Final = re.compile(
    r"(?:pod (?P<pod>\S+) was )?evicted by (?P<action>reclaim|preempt|cleanup)"
    r"(?: for (?P<beneficiary>[^\s:]+)(?: of queue (?P<queue>[^\s:]+))?)?: (?P<right>.*)",
    re.DOTALL,
)


class PastEviction(Record, frozen=True):
    """An eviction of a pod; the right is the rule by which it was evicted, with its numbers."""

    time: float
    pod: str
    action: str
    beneficiary: str = ""  # empty: nobody, its gang had too few pods
    queue: str = ""  # of the beneficiary
    right: str = ""


def past_evictions(events: Iterable[EventSummary], group: str, pods: Collection[str]) -> list[PastEviction]:
    """The evictions of a group's pods, the last first; pods that are gone are known by the group's events."""
    found: dict[tuple[object, ...], PastEviction] = {}
    for event in events:
        about, message = event.involved_object, _MESSAGE.fullmatch(event.message)
        if event.reason != _REASON or message is None or event.last_seen is None:
            continue
        key = f"{event.metadata.namespace or 'default'}/{about.name}"
        if (about.kind, key) == ("PodGroup", group):
            pod = message["pod"] or ""
        elif about.kind == "Pod" and key in pods:
            pod = key
        else:
            continue
        one = PastEviction(
            time=event.last_seen.timestamp(),
            pod=pod,
            action=message["action"],
            beneficiary=message["beneficiary"] or "",
            queue=message["queue"] or "",
            right=message["right"],
        )
        known = found.get((pod, one.action, one.beneficiary))
        if known is None or known.time < one.time:
            found[pod, one.action, one.beneficiary] = one
    return sorted(found.values(), key=lambda one: (-one.time, one.pod))
