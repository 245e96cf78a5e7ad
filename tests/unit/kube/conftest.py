"""A small HTTP server that a test tells what to answer, on a machine where no cluster is configured."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Serve = Callable[..., Awaitable[str]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever runs the tests may have clusters of their own; here is none."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "http_proxy", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Serve a handler on loopback; give its address."""
    runners: list[web.ServerRunner] = []

    async def start(handler: Handler, tls: ssl.SSLContext | None = None) -> str:
        runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        return f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"

    yield start
    for runner in runners:
        await runner.cleanup()
