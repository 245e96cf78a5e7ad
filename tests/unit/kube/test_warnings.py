"""Warnings that come with answers, and addresses that lead nowhere."""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.sources import CredentialsError
from maar.kube.warning_headers import MOST_REMEMBERED, WithoutRepeats, read_warnings
from support.kubeconfigs import changed, with_server, written

Serve = Callable[..., Awaitable[str]]


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ('299 - "use v1"', ["use v1"]),
        ('299 kube-apiserver "use v1" "Mon, 16 Nov 2026 00:00:00 GMT"', ["use v1"]),
        (r'299 - "unknown field \"spec.a\\b\""', [r'unknown field "spec.a\b"']),
        ('299 - "one, two", 299 - "three"', ["one, two", "three"]),
        ('110 - "Response is Stale", 299 - "three"', ["three"]),
        ('299 - ""', []),
        ('299 - "good", 299 - bad, 299 - "behind it"', ["good"]),
        ('299 - "never ends', []),
        ("nonsense", []),
        ('299 - "weiß"', ["weiß"]),
        ('299 - "wei\udcdf"', ["wei\ufffd"]),
        ('299 - "red \x1b[31m"', ["red \ufffd[31m"]),
    ],
)
def test_a_header_holds_texts_for_people(header: str, texts: list[str]) -> None:
    assert list(read_warnings([header])) == texts


@given(st.lists(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1), max_size=4))
def test_what_is_quoted_is_read_as_it_was(texts: list[str]) -> None:
    def quoted(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"")

    header = ", ".join(f'299 - "{quoted(text)}"' for text in texts)
    assert list(read_warnings([header])) == texts


@given(st.text())
def test_no_header_is_too_strange_to_be_read(header: str) -> None:
    assert all(text.isprintable() for text in read_warnings([header]))


def test_nothing_is_told_twice_and_not_everything_remembered() -> None:
    warnings_given: list[str] = []
    once = WithoutRepeats(warnings_given.append)
    for number in [*range(3), *range(2 * MOST_REMEMBERED)]:
        once(str(number))
    assert warnings_given == [str(number) for number in range(MOST_REMEMBERED)]


async def warned(request: web.BaseRequest) -> web.Response:
    """Warn, and refuse whatever is not read."""
    answer = web.Response(text="{}", status=200 if request.method == "GET" else 422)
    answer.headers.add("Warning", '299 - "one", 299 - "two"')
    answer.headers.add("Warning", '299 - "three"')
    return answer


@pytest.mark.anyio
async def test_every_answer_may_warn_and_each_warning_is_told_once(serve: Serve, tmp_path: Path) -> None:
    warnings_given: list[str] = []
    kubeconfig = written(tmp_path / "one", await serve(warned))
    async with ApiServer(await load(kubeconfig), warn=warnings_given.append) as server:
        with pytest.raises(ApiError):
            await server.request("POST", "/", None, b"{}")
        assert warnings_given == ["one", "two", "three"]
        await server.request("GET", "/")
        async with server.stream("/", {}, 1):
            pass
    assert warnings_given == ["one", "two", "three"]


@pytest.mark.anyio
async def test_where_nobody_listens_warnings_are_logged(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with ApiServer(await load(written(tmp_path / "one", await serve(warned)))) as server:
            await server.request("GET", "/")
            await server.request("GET", "/")
    assert [one.getMessage() for one in caplog.records] == [
        f"the API server warns: {text}" for text in ("one", "two", "three")
    ]


NOWHERE = ["localhost:6443", "127.0.0.1:6443", "cluster", "https://:6443", "ftp://cluster", "https://cluster:port",
           "https://[::1", "//cluster"]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("address", NOWHERE)
async def test_an_address_that_leads_nowhere_is_told_with_what_to_write(address: str, tmp_path: Path) -> None:
    credentials = await load(written(tmp_path / "one", address))
    with pytest.raises(CredentialsError) as refusal:
        ApiServer(credentials)
    assert str(refusal.value).startswith(f"{address!r} is not the address of an API server")
    assert "; write it as https://HOST:PORT" in str(refusal.value)


@pytest.mark.anyio
async def test_an_address_that_is_edited_into_nonsense_stops_no_program(serve: Serve, tmp_path: Path) -> None:
    kubeconfig = written(tmp_path / "one", await serve(warned))
    credentials = await load(kubeconfig)
    async with ApiServer(credentials, warn=lambda _: None) as server:
        await server.request("GET", "/")
        changed(kubeconfig, kubeconfig, with_server("nowhere:1"))
        await credentials.refresh(rejected=credentials.proofs.authorization)
        with pytest.raises(UnansweredError, match="write it as https://HOST:PORT") as lost:
            await server.request("GET", "/")
    assert not lost.value.is_passing
