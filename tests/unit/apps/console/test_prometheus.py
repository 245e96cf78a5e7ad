"""The history from a Prometheus: what is asked, how answers are read, and sentences for every failure."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import numpy as np
import pytest
from aiohttp import web

from maar.apps.console.answers import prometheus
from maar.apps.console.answers.prometheus import Prometheus, PrometheusError

pytestmark = pytest.mark.anyio

BEGIN: Final = 1_800_000_000.0
END: Final = BEGIN + 3_600
BELOW: Final = {"root": ["a", "b.c"], "a": ["a"]}

Answer = Callable[[str], object]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def serving(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """An HTTP server that answers queries as it is told."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}/prometheus/"
    finally:
        await runner.cleanup()


def series(value: float, **labels: str) -> object:
    return {"metric": labels, "values": [[BEGIN + 60 * minute, str(value)] for minute in range(61)]}


def counter(each: float, **labels: str) -> object:
    values = [[BEGIN + 60 * minute, str(7 + each * minute)] for minute in range(61)]
    return {"metric": labels, "values": values}


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        ([np.nan, np.nan, 4, 4, 6], [True] * 5, [0, 0, 4, 0, 2]),
        ([3, 3, 5, 1, 2], [True] * 5, [0, 0, 2, 1, 1]),
        ([3, np.nan, 5], [True, False, True], [0, 0, 2]),
        ([3, np.nan, 5], [True, True, True], [0, 0, 5]),
        ([np.nan, 4], [False, True], [0, 0]),
    ],
    ids=["begins", "is reset", "gap", "restart", "before the first scrape"],
)
def testincreases_of_a_counter(values: list[float], known: list[bool], expected: list[float]) -> None:
    assert prometheus.increases(np.array(values, np.float64), known).tolist() == expected


async def test_queues_over_time_in_the_units_of_the_core() -> None:
    asked = list[str]()

    async def answer(request: web.Request) -> web.Response:
        assert request.path == "/prometheus/api/v1/query_range"
        form = await request.post()
        query = str(form["query"])
        asked.append(query)
        found = []
        if "maar_queue_used" in query:
            found = [
                series(2.5, queue_name="root", resource="cpu"),
                series(1 << 30, queue_name="root", resource="memory"),
            ]
        elif "pod_groups_waiting" in query:
            found = [series(3, queue_name="root")]
        elif "evictions" in query:
            begins = {"metric": {"queue_name": "b.c"}, "values": [[BEGIN + 600, "2"], [BEGIN + 660, "5"]]}
            found = [counter(1, queue_name="a"), begins]
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": found}})

    async with serving(answer) as address:
        known, step_s = await Prometheus(address).histories(["root", "a"], BELOW, BEGIN, END)
    assert step_s == 60.0
    assert len(known.times) == 61
    root = known.queues["root"]
    assert np.unique(root.used["cpu"]).tolist() == [2_500.0]
    assert np.unique(root.used["memory"]).tolist() == [float(1 << 30)]
    assert np.unique(root.waiting).tolist() == [3.0]
    assert known.queues["a"].evictions.tolist() == [0.0] + [1.0] * 60
    assert root.evictions.sum() == 60 + 5  # of all leaves below it
    assert root.evictions[10:12].tolist() == [3.0, 4.0]
    assert np.isnan(known.queues["a"].waiting).all()
    [evictions] = [one for one in asked if "evictions" in one]
    assert evictions == 'sum by (queue_name) (maar_queue_evictions_total{queue_name=~"a|b\\\\.c"})'


async def test_names_are_matched_literally() -> None:
    asked = list[str]()

    async def answer(request: web.Request) -> web.Response:
        asked.append(str((await request.post())["query"]))
        return web.json_response({"status": "success", "data": {"result": []}})

    async with serving(answer) as address:
        await Prometheus(address).histories(['x"} or {__name__=~".+'], {}, BEGIN, END)
    [used] = [one for one in asked if "maar_queue_used" in one]
    selected = used.partition("=~")[2].rpartition("}")[0]
    assert json.loads(selected) == r"x\"\} or \{__name__\=\~\"\.\+"  # nothing of it is special


@pytest.mark.parametrize(
    ("status", "text", "sentence"),
    [
        (400, '{"status":"error","error":"parse error"}', "refuses the question: parse error"),
        (200, "<html>not this</html>", "does not answer as a Prometheus does"),
        (502, "bad gateway", "does not answer as a Prometheus does (HTTP 502)"),
        (302, "", "does not answer as a Prometheus does (HTTP 302)"),
        (200, '{"status":"success"}', "refuses the question"),
    ],
)
async def test_bad_answers_are_sentences(status: int, text: str, sentence: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=text, headers={"Location": "/elsewhere"})

    async with serving(answer) as address:
        with pytest.raises(PrometheusError) as error:
            await Prometheus(address).histories(["root"], {}, BEGIN, END)
    assert sentence in str(error.value)


async def test_a_server_that_is_not_there_and_one_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(PrometheusError, match="check --prometheus"):
        await Prometheus("http://user:password@127.0.0.1:1").histories(["root"], {}, BEGIN, END)
    monkeypatch.setattr(prometheus, "_WITHIN_S", 0.3)
    released = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    async with serving(answer) as address:
        with pytest.raises(PrometheusError, match=r"no answer within 0\.3 s"):
            await Prometheus(address).histories(["root"], {}, BEGIN, END)
        released.set()


async def test_errors_do_not_show_a_password() -> None:
    with pytest.raises(PrometheusError) as error:
        await Prometheus("http://user:password@127.0.0.1:1").histories(["root"], {}, BEGIN, END)
    assert "password" not in str(error.value)
