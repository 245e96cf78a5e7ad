"""Health and metrics over real HTTP, on loopback."""

import asyncio
import gzip
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import pytest
from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from maar.apps.daemons.health import (
    BadAddressError,
    Checks,
    changes_within,
    happened,
    serve_on,
    serve_status,
    take,
    within,
)
from maar.apps.metrics.registry import Registry
from support.until import TIMEOUT_S

HERE: Final = "127.0.0.1"
WELL: Final[Checks] = {"work": lambda: ""}
ILL: Final[Checks] = {"work": lambda: "", "disk": lambda: "the disk is full; make room"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Asking:
    """A client of a status server."""

    session: aiohttp.ClientSession
    url: str

    async def __call__(self, path: str, **headers: str) -> tuple[int, str]:
        """Give the status and the text of an answer."""
        async with self.session.get(f"{self.url}{path}", headers=headers) as found:
            return found.status, await found.text()


@asynccontextmanager
async def served(
    live: Checks = WELL, ready: Checks = WELL, registry: Registry | None = None
) -> AsyncIterator[Asking]:
    with take(f"{HERE}:0") as place:
        serving = asyncio.create_task(serve_on(place, live, ready, registry or Registry()))
        url = f"http://{HERE}:{place.getsockname()[1]}"
        try:
            async with aiohttp.ClientSession() as session:
                yield Asking(session, url)
        finally:
            serving.cancel()
            await asyncio.wait([serving])
            assert serving.cancelled()


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_all_is_well(path: str) -> None:
    async with served() as ask:
        assert await ask(path) == (200, "ok")
        assert await ask(f"{path}?verbose") == (200, f"[+] work: ok\n{path[1:]} check passed\n")


@pytest.mark.anyio
async def test_what_is_wrong_is_said_and_readiness_is_not_life() -> None:
    async with served(live=WELL, ready=ILL) as ask:
        assert await ask("/livez") == (200, "ok")
        wrong = "[-] disk: the disk is full; make room\n"
        assert await ask("/readyz") == (503, f"{wrong}readyz check failed\n")
        assert await ask("/readyz?verbose") == (503, f"[+] work: ok\n{wrong}readyz check failed\n")


@pytest.mark.anyio
async def test_checks_are_asked_every_time() -> None:
    known = asyncio.Event()
    async with served(ready={"cluster": happened(known, "pods are still being read")}) as ask:
        assert await ask("/readyz") == (503, "[-] cluster: pods are still being read\nreadyz check failed\n")
        known.set()
        assert await ask("/readyz") == (200, "ok")


@pytest.mark.anyio
async def test_a_check_that_fails_is_a_check_that_is_not_well(caplog: pytest.LogCaptureFixture) -> None:
    async with served(live={"broken": lambda: str(1 // 0)}) as ask:
        status, text = await ask("/livez")
    assert (status, "ZeroDivisionError" in text) == (503, True)
    assert "the check broken failed" in caplog.text


@pytest.mark.anyio
async def test_other_paths_and_methods_are_refused_in_a_sentence() -> None:
    async with served() as ask:
        assert await ask("/") == (
            404,
            "'/' is not a path of this server; use one of /healthz, /livez, /readyz, /metrics\n",
        )
        async with ask.session.post(f"{ask.url}/metrics") as found:
            assert (found.status, await found.text()) == (405, "/metrics takes a GET\n")


@pytest.mark.anyio
async def test_metrics_are_text_that_prometheus_reads() -> None:
    registry = Registry()
    Counter("seen_total", "What was seen.", registry=registry).inc(3)
    async with served(registry=registry) as ask:
        status, text = await ask("/metrics")
    (family,) = [one for one in text_string_to_metric_families(text) if one.name == "seen"]
    assert (status, family.type, family.samples[0].value) == (200, "counter", 3)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("*/*", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0"),
        ("text/plain;version=nonsense", "text/plain; version=0.0.4; charset=utf-8"),
    ],
)
async def test_metrics_come_in_the_form_that_is_asked_for(accept: str, content_type: str) -> None:
    async with served() as ask, ask.session.get(f"{ask.url}/metrics", headers={"accept": accept}) as found:
        assert found.status == 200
        assert found.headers["content-type"].startswith(content_type)
        assert (await found.text()).endswith("# EOF\n") is accept.startswith("application")


@pytest.mark.anyio
async def test_metrics_are_compressed_for_who_can_read_that() -> None:
    registry = Registry()
    Counter("seen_total", "What was seen.", registry=registry)
    async with served(registry=registry) as ask, aiohttp.ClientSession(auto_decompress=False) as raw:
        _, text = await ask("/metrics", **{"accept-encoding": "identity"})
        async with raw.get(f"{ask.url}/metrics", headers={"accept-encoding": "gzip"}) as found:
            assert found.headers["content-encoding"] == "gzip"
            assert gzip.decompress(await found.read()).decode() == text


class _SlowCollector:
    """Metrics that take as long as somebody likes."""

    def __init__(self) -> None:
        self.asked, self.done = threading.Event(), threading.Event()

    def collect(self) -> list[object]:
        self.asked.set()
        assert self.done.wait(30)
        return []


@pytest.mark.anyio
async def test_health_is_answered_while_metrics_are_made() -> None:
    registry, slow = Registry(), _SlowCollector()
    registry.register(slow)  # type: ignore[arg-type]  # it has no metrics to give
    async with served(registry=registry) as ask:
        scrape = asyncio.create_task(ask("/metrics"))
        await asyncio.to_thread(slow.asked.wait, 30)
        assert await ask("/livez") == (200, "ok")
        assert not scrape.done()
        slow.done.set()
        assert await scrape == (200, "")


@pytest.mark.anyio
async def test_health_is_answered_while_a_thread_computes() -> None:
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            sum(range(10_000))

    async with served() as ask:
        deciding = asyncio.create_task(asyncio.to_thread(compute))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                for _ in range(3):
                    assert await ask("/livez") == (200, "ok")
        finally:
            stop.set()
            await deciding


@pytest.mark.anyio
async def test_a_client_that_stays_connected_does_not_hold_up_the_end() -> None:
    async with asyncio.timeout(TIMEOUT_S), served() as ask:
        assert await ask("/livez") == (200, "ok")
        _, silent = await asyncio.open_connection(HERE, int(ask.url.rpartition(":")[2]))
    silent.close()  # which nobody has waited for


@pytest.mark.anyio
async def test_signals_stay_with_the_process() -> None:
    reported = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, reported.set)
    ours = signal.getsignal(signal.SIGTERM)
    try:
        async with served() as ask:
            assert await ask("/livez") == (200, "ok")
            assert signal.getsignal(signal.SIGTERM) is ours
            os.kill(os.getpid(), signal.SIGTERM)
            async with asyncio.timeout(TIMEOUT_S):
                await reported.wait()
            assert await ask("/livez") == (200, "ok")
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


@pytest.mark.anyio
async def test_a_taken_address_is_said_at_once() -> None:
    with take(f"{HERE}:0") as place:
        address = f"{HERE}:{place.getsockname()[1]}"
        with pytest.raises(BadAddressError, match=rf"^--listen {address}: .*\(Address already in use\); "):
            await serve_status(address, WELL, WELL, Registry())


@pytest.mark.anyio
async def test_an_address_is_free_again_when_its_server_has_ended() -> None:
    with take(f"{HERE}:0") as place:
        address = f"{HERE}:{place.getsockname()[1]}"
    for _ in range(2):
        serving = asyncio.create_task(serve_status(address, WELL, WELL, Registry()))
        async with aiohttp.ClientSession() as session:
            await asyncio.sleep(0)  # it listens from its first step on
            async with session.get(f"http://{address}/livez") as found:
                assert await found.text() == "ok"
        serving.cancel()
        await asyncio.wait([serving])


@pytest.mark.parametrize(
    "address", ["", "8080", "localhost", "a:b:80", "host:", "host:-1", "::1:80", "h:1234567"]
)
def test_what_is_no_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(BadAddressError, match=r"write HOST:PORT, such as 127\.0\.0\.1:8080"):
        take(address)


@pytest.mark.parametrize("address", [f"{HERE}:99999", "no-such-host.invalid:80", f"{'a' * 70}.b:80"])
def test_an_address_that_nobody_can_have_is_refused_with_the_reason(address: str) -> None:
    with pytest.raises(BadAddressError, match=rf"^--listen {address}: nothing can listen there \(.+\); "):
        take(address)


def test_a_command_says_what_is_wrong_with_its_address() -> None:
    maar = Path(sys.executable).with_name("maar")
    done = subprocess.run(
        [maar, "webhooks", "--listen", "8080"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "--listen 8080: write HOST:PORT" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("address", "host"), [(":0", "0.0.0.0"), ("localhost:0", HERE), ("[::1]:0", "::1")])  # noqa: S104  nobody connects
def test_addresses_in_all_forms_are_taken(address: str, host: str) -> None:
    if host == "::1" and not _has_ipv6():
        pytest.skip("no IPv6 here")
    with take(address) as place:
        assert place.getsockname()[0] == host


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("since", "sentence"),
    [
        (lambda: None, ""),
        (lambda: time.monotonic() - 5, ""),
        (lambda: time.monotonic() - 20, "a decision has been under way for 20 s, and 10 s is long"),
    ],
)
def test_what_takes_too_long_is_said(since: Callable[[], float | None], sentence: str) -> None:
    assert within(10, since, "a decision has been under way")() == sentence


@pytest.mark.parametrize(
    ("lags", "sentence"),
    [
        ({}, ""),
        ({"Pod": 0.0, "Node": 29.0}, ""),
        (
            {"Pod": 40.0, "Node": 0.0, "Queue": 31.2},
            "changes may have gone unseen of Pod for 40 s, Queue for 31 s: does the API server answer?",
        ),
    ],
)
def test_changes_that_do_not_come_are_said(lags: dict[str, float], sentence: str) -> None:
    assert changes_within(30, lambda: lags)() == sentence
