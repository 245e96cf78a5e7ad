"""The history from a Prometheus that scrapes Maar's daemons, instead of from a file of the console's own."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

import aiohttp
import msgspec
import numpy as np
from yarl import URL

from maar.core.model.resources import units_in_one
from maar.core.views.console.history import Floats, Histories, QueueHistory

_WITHIN_S: Final = 15.0
_LARGEST: Final = 32 << 20  # bytes of an answer
_POINTS: Final = 360
_LEAST_STEP_S: Final = 60
_LONGEST_TEXT: Final = 300


class PrometheusError(Exception):
    """There is no history from there, in a sentence."""


class _Series(msgspec.Struct):
    metric: dict[str, str] = {}
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct):
    result: list[_Series] = []


class _Answer(msgspec.Struct):
    status: str = ""
    error: str = ""
    data: _Data | None = None


class _Range(NamedTuple):
    """The moments that are asked about."""

    begin: float
    end: float

    @property
    def step(self) -> int:
        """Seconds from one to the next."""
        return max(_LEAST_STEP_S, int((self.end - self.begin) / _POINTS))

    @property
    def times(self) -> Floats:
        """The moments themselves."""
        return np.arange(self.begin, self.end + 0.5 * self.step, self.step, dtype=np.float64)


class Prometheus:
    """Asks a Prometheus."""

    def __init__(self, address: str) -> None:
        self._address = URL(address.rstrip("/"))
        self.name = str(self._address.with_user(None).with_password(None))

    async def histories(
        self, queues: Sequence[str], below: Mapping[str, Sequence[str]], begin: float, end: float
    ) -> tuple[Histories, float]:
        """Some queues over time, and how far moments are apart; `below` has all leaves of each of them."""
        span = _Range(begin, end)
        chosen = _matching(queues)
        leaves = sorted({leaf for name in queues for leaf in below.get(name, ())})
        asked = {
            "deserved": f"max by (queue_name, resource) (maar_queue_deserved{chosen})",
            "used": f"max by (queue_name, resource) (maar_queue_used{chosen})",
            "guarantee": f"max by (queue_name, resource) (maar_queue_guarantee{chosen})",
            "waiting": f"max by (queue_name) (maar_queue_pod_groups_waiting{chosen})",
            "longest": f"max by (queue_name) (maar_queue_longest_wait_seconds{chosen})",
            "evictions": f"sum by (queue_name) (maar_queue_evictions_total{_matching(leaves)})",
        }
        timeout = aiohttp.ClientTimeout(total=_WITHIN_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            answers = await asyncio.gather(*(self._range(session, text, span) for text in asked.values()))
        found = dict(zip(asked, answers, strict=True))
        times = span.times
        amounts = {name: _amounts(found[name], times) for name in ("deserved", "used", "guarantee")}
        counts = {name: _counts(found[name], times) for name in ("waiting", "longest")}
        is_known = _is_known(found["used"], times)
        evictions = {
            name: increases(values, is_known) for name, values in _counts(found["evictions"], times).items()
        }
        nothing = np.full(len(times), np.nan)
        return Histories(
            times,
            {
                name: QueueHistory(
                    deserved=amounts["deserved"].get(name, {}),
                    used=amounts["used"].get(name, {}),
                    guarantee=amounts["guarantee"].get(name, {}),
                    waiting=counts["waiting"].get(name, nothing),
                    longest=counts["longest"].get(name, nothing),
                    evictions=_together(evictions, (name, *below.get(name, ())), len(times)),
                )
                for name in queues
            },
        ), float(span.step)

    async def _range(self, session: aiohttp.ClientSession, query: str, span: _Range) -> list[_Series]:
        form = {
            "query": query,
            "start": f"{span.begin:.3f}",
            "end": f"{span.end:.3f}",
            "step": str(span.step),
        }
        try:
            async with session.post(
                self._address / "api/v1/query_range", data=form, allow_redirects=False
            ) as answer:
                body = await answer.content.read(_LARGEST + 1)
                while len(body) <= _LARGEST and (more := await answer.content.read(_LARGEST)):
                    body += more
        except TimeoutError:
            raise PrometheusError(f"{self.name} gave no answer within {_WITHIN_S:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PrometheusError(f"{self.name} cannot be asked: {error}; check --prometheus") from None
        if len(body) > _LARGEST:
            raise PrometheusError(f"the answer of {self.name} is larger than {_LARGEST >> 20} MiB")
        try:
            read = _DECODER.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            text = body.decode(errors="replace").strip()[:_LONGEST_TEXT]
            raise PrometheusError(
                f"{self.name} does not answer as a Prometheus does (HTTP {answer.status}): {text}; "
                "check --prometheus"
            ) from None
        if answer.status != HTTPStatus.OK or read.status != "success" or read.data is None:
            raise PrometheusError(f"{self.name} refuses the question: {read.error or answer.status}")
        return read.data.result


def _matching(names: Iterable[str]) -> str:
    """A selector of queues by name; regular expressions of Prometheus match the whole."""
    listed = "|".join(map(_literally, names))
    return "{queue_name=~" + msgspec.json.encode(listed).decode() + "}"


def _literally(name: str) -> str:
    return "".join(one if one.isalnum() or one in "-_ " else f"\\{one}" for one in name)


def _amounts(series: Iterable[_Series], times: Floats) -> dict[str, dict[str, Floats]]:
    """By queue and resource, in whole units of the core."""
    found: dict[str, dict[str, Floats]] = {}
    for one in series:
        resource = one.metric.get("resource", "")
        values = _values(one, times) * units_in_one(resource)
        found.setdefault(one.metric.get("queue_name", ""), {})[resource] = values
    return found


def _counts(series: Iterable[_Series], times: Floats) -> dict[str, Floats]:
    return {one.metric.get("queue_name", ""): _values(one, times) for one in series}


def _values(one: _Series, times: Floats) -> Floats:
    found = np.full(len(times), np.nan)
    step = float(times[1] - times[0]) if len(times) > 1 else 1.0
    for moment, text in one.values:
        place = round((moment - float(times[0])) / step)
        if 0 <= place < len(found):
            found[place] = float(text)
    return found


def _is_known(series: Iterable[_Series], times: Floats) -> list[bool]:
    """At which moments the scheduler was scraped."""
    known = [~np.isnan(_values(one, times)) for one in series]
    found: list[bool] = np.any(known, axis=0).tolist() if known else [False] * len(times)
    return found


def increases(counter: Floats, is_known: Sequence[bool]) -> Floats:
    """What was counted from each moment to the next; a counter begins when there is something to count.

    Prometheus' own `increase` leaves out what a counter begins with, which here is often all there is.
    """
    found, last = np.zeros(len(counter)), np.nan
    for place, (value, known) in enumerate(zip(counter.tolist(), is_known, strict=True)):
        if np.isnan(value):
            last = 0.0 if known else last
        else:
            found[place] = 0.0 if np.isnan(last) else value - last if value >= last else value
            last = value
    return found


def _together(counts: Mapping[str, Floats], names: Iterable[str], length: int) -> Floats:
    known = [np.nan_to_num(counts[name]) for name in dict.fromkeys(names) if name in counts]
    return np.sum(known, axis=0) if known else np.zeros(length)


_DECODER: Final = msgspec.json.Decoder(_Answer)
