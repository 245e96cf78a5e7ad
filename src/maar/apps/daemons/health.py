"""Liveness, readiness and metrics of a process, over HTTP."""

import asyncio
import gzip
import logging
import re
import socket
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from prometheus_client.exposition import gzip_accepted

from maar.apps.metrics.registry import Registry
from maar.kube.write_failures import WriteFailures
from maar.serving.http import PLAIN_TEXT, HttpRequest, Message, Receive, Send, answer
from maar.serving.http_server import HttpServer
from maar.serving.listening import bound
from maar.serving.visits import Bounds

_LOG: Final = logging.getLogger(__name__)

Check = Callable[[], str]  # gives nothing where all is well, else a sentence that says what is not
Checks = Mapping[str, Check]

_PROBES: Final = frozenset(("/healthz", "/livez", "/readyz"))
_BOUNDS: Final = Bounds(connections=100, of_one_peer=50, probes=_PROBES)
_FINISH_WITHIN_S: Final = 1
_ADDRESS: Final = re.compile(r"(?P<host>[^\[\]:]*|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


class BadAddressError(Exception):
    """An address cannot be listened on."""


async def serve_status(listen: str, live: Checks, ready: Checks, registry: Registry) -> None:
    """Answer at HOST:PORT until cancelled."""
    with take(listen) as place:
        await serve_on(place, live, ready, registry)


def take(listen: str) -> socket.socket:
    """Listen at HOST:PORT, at all addresses where there is no host; port 0 is a free one."""
    found = _ADDRESS.fullmatch(listen)
    if found is None:
        raise BadAddressError(
            f"--listen {listen}: write HOST:PORT, such as 127.0.0.1:8080, or :8080 for all addresses"
        )
    host, port = found["host"].strip("[]"), int(found["port"])
    try:
        return bound(host, port)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadAddressError(
            f"--listen {listen}: nothing can listen there ({why}); end what does, or name another address"
        ) from None


async def serve_on(place: socket.socket, live: Checks, ready: Checks, registry: Registry) -> None:
    """Answer at a place that is taken already, until cancelled."""
    status = Status(live, ready, registry)
    server = HttpServer(status, bounds=_BOUNDS, finish_within_s=_FINISH_WITHIN_S)
    serving = asyncio.create_task(server.serve(sockets=[place]))
    try:
        await asyncio.shield(serving)
    finally:
        await server.finish(serving)


class Status:
    """The ASGI application; the paths are those of Kubernetes' own components."""

    def __init__(self, live: Checks, ready: Checks, registry: Registry) -> None:
        self._checks = {"/healthz": live, "/livez": live, "/readyz": ready}
        self._registry = registry

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = HttpRequest.of(scope, receive)
        checks = self._checks.get(request.path)
        if checks is None and request.path != "/metrics":
            known = ", ".join([*self._checks, "/metrics"])
            sentence = f"{request.path[:100]!r} is not a path of this server; use one of {known}\n"
            await answer(send, sentence.encode(), HTTPStatus.NOT_FOUND, headers=[PLAIN_TEXT])
        elif request.method != "GET":
            sentence = f"{request.path} takes a GET\n"
            await answer(send, sentence.encode(), HTTPStatus.METHOD_NOT_ALLOWED, headers=[PLAIN_TEXT])
        elif checks is not None:
            status, text = _verdict(request.path[1:], checks, verbose="verbose" in request.query)
            await answer(send, text.encode(), status, headers=[PLAIN_TEXT])
        else:
            # In a thread: with many queues it takes a while, and others wait for this loop.
            headers, body = await asyncio.to_thread(self._metrics, request)
            await answer(send, body, headers=headers)

    def _metrics(self, request: HttpRequest) -> tuple[list[tuple[bytes, bytes]], bytes]:
        content_type, body = self._registry.exposition(request.header(b"accept"))
        headers = [(b"content-type", content_type.encode())]
        if gzip_accepted(request.header(b"accept-encoding")):
            headers.append((b"content-encoding", b"gzip"))
            body = gzip.compress(body, compresslevel=1)
        return headers, body


def _verdict(name: str, checks: Checks, *, verbose: bool) -> tuple[HTTPStatus, str]:
    """The status, and ok or what is wrong; with `verbose`, every check."""
    found = {check: _sentence(check, ask) for check, ask in checks.items()}
    wrong = {check: sentence for check, sentence in found.items() if sentence}
    shown = [_line(check, sentence) for check, sentence in (found if verbose else wrong).items()]
    if not wrong:
        return HTTPStatus.OK, "\n".join([*shown, f"{name} check passed\n"]) if verbose else "ok"
    return HTTPStatus.SERVICE_UNAVAILABLE, "\n".join([*shown, f"{name} check failed\n"])


def _line(check: str, sentence: str) -> str:
    return f"[-] {check}: {sentence}" if sentence else f"[+] {check}: ok"


def _sentence(name: str, check: Check) -> str:
    try:
        return check()
    except Exception as error:  # noqa: BLE001  a check that fails is an answer too
        _LOG.exception("the check %s failed", name)
        return f"the check itself failed ({type(error).__name__}); the log says more"


# Checks that several processes have in common


def happened(event: asyncio.Event, otherwise: str) -> Check:
    """Something has happened once."""
    return lambda: "" if event.is_set() else otherwise


def within(limit_s: float, since: Callable[[], float | None], what: str) -> Check:
    """What is under way, since a moment of the monotonic clock, has not been so for too long."""

    def check() -> str:
        began = since()
        taken = 0.0 if began is None else time.monotonic() - began
        return "" if taken <= limit_s else f"{what} for {taken:.0f} s, and {limit_s:.0f} s is long"

    return check


def can_write(limit_s: float, failures: WriteFailures) -> Check:
    """No operation on a kind has failed for all objects for so long."""
    return lambda: "; ".join(failures.lasting(limit_s))


def changes_within(limit_s: float, lags: Callable[[], Mapping[str, float]]) -> Check:
    """Changes of every kind come, or stopped coming not long ago."""

    def check() -> str:
        late = [f"{kind} for {lag:.0f} s" for kind, lag in lags().items() if lag > limit_s]
        return (
            f"changes may have gone unseen of {', '.join(late)}: does the API server answer?" if late else ""
        )

    return check
