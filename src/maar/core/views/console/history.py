"""What is remembered of a cluster once a minute: of every queue what it deserves and uses, waits, evictions.

A sample is a table with a column for each queue. It is kept packed: names once, numbers as columns,
so that a day of a thousand queues takes a few megabytes. `histories` reads some queues out of many
samples again.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import Resources
from maar.core.views.console.queue_rows import queue_row
from maar.core.views.job_summary import EventSummary

Floats = NDArray[np.float64]

_COUNTS: Final = ("waiting", "longest", "evictions")
_PACKED_LEVEL: Final = 6
_LARGEST: Final = 64 << 20  # bytes of a sample; a damaged one may claim to be of any size


class BadSampleError(ValueError):
    """A sample that cannot be read."""


class QueueMoment(NamedTuple):
    """A queue at one moment; amounts in whole units by resource."""

    deserved: Mapping[str, int]
    used: Mapping[str, int]
    guarantee: Mapping[str, int]
    waiting: int = 0  # pod groups in it and below it that have not started
    longest: int = 0  # seconds that one of them has waited
    evictions: int = 0  # of pods in it and below it, since the last sample


class Sample(NamedTuple):
    """All queues at one moment."""

    time: float
    queues: Mapping[str, QueueMoment]


class QueueHistory(NamedTuple):
    """A queue over time: an array over the same times for everything; NaN where nothing is known."""

    deserved: Mapping[str, Floats]
    used: Mapping[str, Floats]
    guarantee: Mapping[str, Floats]
    waiting: Floats
    longest: Floats
    evictions: Floats


class Histories(NamedTuple):
    """Some queues over time."""

    times: Floats
    queues: Mapping[str, QueueHistory]


def take_sample(
    queues: Mapping[str, Queue], groups: Iterable[PodGroup], evicted: Mapping[str, int], now: float
) -> Sample:
    """What is so now; `evicted` counts pods by the key of their group."""
    total = queues[ROOT].status.deserved if ROOT in queues else Resources()
    waiting, longest, evictions = Counter[str](), dict[str, int](), Counter[str]()
    paths = {name: _path(queues, name) for name in queues}
    for group in groups:
        path = paths.get(group.spec.queue, ())
        created = group.metadata.creation_timestamp
        is_waiting = group.status.is_waiting
        waits_s = max(0, int(now - created.timestamp())) if is_waiting and created else 0
        for name in path:
            waiting[name] += is_waiting
            longest[name] = max(longest.get(name, 0), waits_s)
            evictions[name] += evicted.get(group.key, 0)
    found = dict[str, QueueMoment]()
    for name, queue in queues.items():
        amounts = queue_row(queue, total).resources
        found[name] = QueueMoment(
            deserved={resource: one.deserved for resource, one in amounts.items()},
            used={resource: one.used for resource, one in amounts.items()},
            guarantee={resource: one.guarantee for resource, one in amounts.items() if one.guarantee},
            waiting=waiting[name],
            longest=longest.get(name, 0),
            evictions=evictions[name],
        )
    return Sample(now, found)


def _path(queues: Mapping[str, Queue], name: str) -> tuple[str, ...]:
    """A queue and those above it; one that is its own ancestor is met once."""
    found: dict[str, None] = {}
    while name in queues and name not in found:
        found[name] = None
        name = ROOT if name != ROOT and queues[name].parent not in queues else queues[name].parent
        if ROOT in found:
            break
    return tuple(found)


class EvictionCounts:
    """Counts evictions that have been reported since the last time, by the key of the pod group."""

    def __init__(self) -> None:
        self._known: dict[str, int] | None = None

    def new(self, events: Iterable[EventSummary]) -> dict[str, int]:
        """What has come on top; the first time there is nothing to compare with."""
        known, self._known = self._known, {}
        found = Counter[str]()
        for one in events:
            about = one.involved_object
            if one.reason != "Evict" or about.kind != "PodGroup":
                continue
            self._known[one.key] = one.times
            if known is not None:
                group = f"{one.metadata.namespace or 'default'}/{about.name}"
                found[group] += max(0, one.times - known.get(one.key, 0))
        return dict(found)


# --- packed


class _Packed(msgspec.Struct, array_like=True):
    time: float
    names: list[str]
    resources: list[str]
    amounts: bytes  # int64 [3, R, Q]: deserved, used, guarantee
    counts: bytes  # int64 [3, Q]


def packed(sample: Sample) -> bytes:
    """A sample as bytes."""
    names = list(sample.queues)
    moments = list(sample.queues.values())
    resources = sorted({name for one in moments for part in one[:3] for name in part})
    amounts = np.array(
        [
            [[part.get(resource, 0) for part in column] for resource in resources]
            for column in zip(*((one.deserved, one.used, one.guarantee) for one in moments), strict=True)
        ],
        np.int64,
    )
    counts = np.array([(one.waiting, one.longest, one.evictions) for one in moments], np.int64).T
    one = _Packed(sample.time, names, resources, amounts.tobytes(), np.ascontiguousarray(counts).tobytes())
    return zlib.compress(msgspec.msgpack.encode(one), _PACKED_LEVEL)


def histories(samples: Sequence[bytes], names: Sequence[str]) -> tuple[Histories, int]:
    """Some queues in many samples, by time, and how many samples could not be read."""
    read, bad = list[Sample](), 0
    for data in samples:
        try:
            read.append(_unpacked(data, names))
        except BadSampleError:
            bad += 1
    read.sort(key=lambda one: one.time)
    return of_samples(read, names), bad


def of_samples(samples: Sequence[Sample], names: Sequence[str]) -> Histories:
    """Samples as arrays."""
    times = np.array([one.time for one in samples], np.float64)
    return Histories(times, {name: _history([one.queues.get(name) for one in samples]) for name in names})


def _history(moments: Sequence[QueueMoment | None]) -> QueueHistory:
    resources = sorted({name for one in moments if one is not None for name in (*one.deserved, *one.used)})

    def column(value: Callable[[QueueMoment], float]) -> Floats:
        return np.array([np.nan if one is None else value(one) for one in moments], np.float64)

    def amounts(part: Callable[[QueueMoment], Mapping[str, int]]) -> dict[str, Floats]:
        return {name: column(partial(_amount, part, name)) for name in resources}

    return QueueHistory(
        deserved=amounts(lambda one: one.deserved),
        used=amounts(lambda one: one.used),
        guarantee=amounts(lambda one: one.guarantee),
        waiting=column(lambda one: one.waiting),
        longest=column(lambda one: one.longest),
        evictions=column(lambda one: one.evictions),
    )


def _amount(part: Callable[[QueueMoment], Mapping[str, int]], resource: str, one: QueueMoment) -> int:
    return part(one).get(resource, 0)


def _unpacked(data: bytes, names: Sequence[str]) -> Sample:
    """The part of a sample that is about some queues."""
    try:
        unzipped = zlib.decompressobj()
        text = unzipped.decompress(data, _LARGEST)
        if not unzipped.eof:
            raise BadSampleError("it is cut off, or larger than a sample can be")
        one = _DECODER.decode(text)
        shape = (3, len(one.resources), len(one.names))
        amounts = np.frombuffer(one.amounts, np.int64).reshape(shape)
        counts = np.frombuffer(one.counts, np.int64).reshape(len(_COUNTS), len(one.names))
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise BadSampleError(str(error)) from None
    places = {name: place for place, name in enumerate(one.names)}
    found = dict[str, QueueMoment]()
    for name in names:
        if (place := places.get(name)) is not None:
            deserved, used, guarantee = (
                dict(zip(one.resources, column.tolist(), strict=True)) for column in amounts[:, :, place]
            )
            found[name] = QueueMoment(deserved, used, guarantee, *counts[:, place].tolist())
    return Sample(one.time, found)


_DECODER: Final = msgspec.msgpack.Decoder(_Packed)
