"""Proving who we are, and knowing who the server is: certificates, tokens and proxies on the wire."""

import asyncio
import base64
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from maar.kube import dialing
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError, UnansweredError
from support.certificates import Signed
from support.kubeconfigs import written
from support.until import TIMEOUT_S

pytestmark = pytest.mark.anyio

Serve = Callable[..., Awaitable[str]]


async def who(request: web.BaseRequest) -> web.Response:
    """Answer with the name on the client's certificate."""
    assert request.transport is not None
    subject: Any = request.transport.get_extra_info("peercert") or {}
    return web.Response(text=str(dict(pair for part in subject.get("subject", ()) for pair in part)))


def server_side(authority: Signed, folder: Path, name: str = "server") -> ssl.SSLContext:
    """A server that takes clients which the authority knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.sign(name).write(folder / "server"))
    context.load_verify_locations(authority.write(folder / "authority")[0])
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def encoded(file: Path) -> str:
    """The content of a file as kubeconfigs carry it."""
    return base64.b64encode(file.read_bytes()).decode()


async def test_a_client_certificate_says_who_we_are(serve: Serve, tmp_path: Path) -> None:
    authority = Signed.authority()
    address = await serve(who, server_side(authority, tmp_path))
    trusted = authority.write(tmp_path / "authority")[0]
    certificate, key = authority.sign("maar").write(tmp_path / "client")
    for cluster, user in (
        (
            {"certificate-authority": str(trusted)},
            {"client-certificate": str(certificate), "client-key": str(key)},
        ),
        (
            {"certificate-authority-data": encoded(trusted)},
            {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)},
        ),
    ):
        async with ApiServer(await load(written(tmp_path / "one", address, user, cluster))) as server:
            assert await server.request("GET", "/") == b"{'commonName': 'maar'}"


async def test_a_new_certificate_is_shown_on_new_connections(serve: Serve, tmp_path: Path) -> None:
    authority = Signed.authority()
    address = await serve(who, server_side(authority, tmp_path))
    trusted = authority.write(tmp_path / "authority")[0]
    certificate, key = authority.sign("old").write(tmp_path / "client")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    found = await load(
        written(tmp_path / "one", address, user, cluster={"certificate-authority": str(trusted)})
    )
    async with ApiServer(found) as server:
        assert b"old" in await server.request("GET", "/")
    authority.sign("new").write(tmp_path / "client")
    await found.refresh(rejected="")
    async with ApiServer(found) as server:
        assert b"new" in await server.request("GET", "/")


async def test_a_server_that_cannot_prove_who_it_is_gets_nothing(serve: Serve, tmp_path: Path) -> None:
    authority, stranger = Signed.authority(), Signed.authority("stranger")
    address = await serve(who, server_side(stranger, tmp_path))
    trusted = authority.write(tmp_path / "trusted")[0]
    async with ApiServer(
        await load(written(tmp_path / "one", address, cluster={"certificate-authority": str(trusted)}))
    ) as server:
        with pytest.raises(
            UnansweredError, match=r"is not trusted.*check the cluster's certificate-auth"
        ) as no:
            await server.request("POST", "/", None, b"{}")
        assert not no.value.may_be_done
        assert not no.value.is_passing


async def test_a_server_may_have_another_name_than_its_address(serve: Serve, tmp_path: Path) -> None:
    authority = Signed.authority()
    address = await serve(who, server_side(authority, tmp_path, "kubernetes.example"))
    certificate, key = authority.sign("maar").write(tmp_path / "client")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    trusted = str(authority.write(tmp_path / "authority")[0])
    for name, expected in (("kubernetes.example", True), ("another.example", False)):
        cluster = {"certificate-authority": trusted, "tls-server-name": name}
        async with ApiServer(await load(written(tmp_path / "one", address, user, cluster))) as server:
            if expected:
                assert b"maar" in await server.request("GET", "/")
            else:
                with pytest.raises(UnansweredError, match="not trusted"):
                    await server.request("GET", "/")


async def test_a_new_client_certificate_is_shown_at_once_when_the_old_one_is_rejected(
    serve: Serve, tmp_path: Path
) -> None:
    authority, accepted = Signed.authority(), "old"

    async def check(request: web.BaseRequest) -> web.Response:
        answer = await who(request)
        good = accepted in str(answer.text)
        return answer if good else web.Response(status=HTTPStatus.UNAUTHORIZED, text="{}")

    address = await serve(check, server_side(authority, tmp_path))
    certificate, key = authority.sign("old").write(tmp_path / "client")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    cluster = {"certificate-authority": str(authority.write(tmp_path / "authority")[0])}
    async with ApiServer(await load(written(tmp_path / "one", address, user, cluster))) as server:
        assert b"old" in await server.request("GET", "/")
        authority.sign("new").write(tmp_path / "client")
        accepted = "new"
        assert b"new" in await server.request("GET", "/")


async def test_a_name_may_end_with_a_dot(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, looked_up, real = Signed.authority(), list[str](), dialing.look_up

    async def here(host: str, port: int) -> list[Any]:
        looked_up.append(host)
        return await real("127.0.0.1", port)

    monkeypatch.setattr(dialing, "look_up", here)
    name = "kubernetes.example"
    address = await serve(who, server_side(authority, tmp_path, name))
    certificate, key = authority.sign("maar").write(tmp_path / "client")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    cluster = {"certificate-authority": str(authority.write(tmp_path / "authority")[0])}
    file = written(tmp_path / "one", address.replace("127.0.0.1", f"{name}."), user, cluster)
    async with ApiServer(await load(file)) as server:
        assert b"maar" in await server.request("GET", "/")
    assert looked_up == [f"{name}."]


async def test_a_rejected_token_is_read_again_once(serve: Serve, tmp_path: Path) -> None:
    asked: list[str] = []
    accepted = "new"

    async def check(request: web.BaseRequest) -> web.Response:
        asked.append(request.headers["Authorization"])
        good = asked[-1] == f"Bearer {accepted}"
        return web.Response(status=HTTPStatus.OK if good else HTTPStatus.UNAUTHORIZED, text="{}")

    token = tmp_path / "token"
    token.write_text("old")
    found = await load(written(tmp_path / "one", await serve(check), {"tokenFile": str(token)}))
    async with ApiServer(found) as server:
        with pytest.raises(ApiError) as rejected:
            await server.request("POST", "/", None, b"{}")
        assert rejected.value.code == HTTPStatus.UNAUTHORIZED
        assert asked == ["Bearer old", "Bearer old"]
        token.write_text("new")
        assert await server.request("POST", "/", None, b"{}") == b"{}"
        assert asked[2:] == ["Bearer old", "Bearer new"]
        token.unlink()
        accepted = "another"
        with pytest.raises(ApiError, match="there are no others"):
            await server.request("POST", "/", None, b"{}")


async def test_requests_go_through_the_proxy_that_is_named(serve: Serve, tmp_path: Path) -> None:
    async def relay(request: web.BaseRequest) -> web.Response:
        return web.Response(text=f"{request.method} {request.url}")

    proxy = await serve(relay)
    file = written(tmp_path / "one", "http://cluster.example", cluster={"proxy-url": proxy})
    async with ApiServer(await load(file)) as server:
        assert await server.request("GET", "/version") == b"GET http://cluster.example/version"


async def test_a_server_that_never_takes_leave_keeps_no_connection_open(tmp_path: Path) -> None:
    authority = Signed.authority()
    tls, asked = server_side(authority, tmp_path), threading.Event()
    tls.verify_mode = ssl.CERT_NONE

    def hear_and_say_nothing() -> bytes:
        with listener, listener.accept()[0] as met:
            met.settimeout(TIMEOUT_S)
            with tls.wrap_socket(met, server_side=True) as one:
                one.recv(1)
                asked.set()
                with socket.socket(fileno=one.detach()) as bare:
                    bare.settimeout(TIMEOUT_S)
                    while bare.recv(1 << 16):
                        pass
        return b"hung up"

    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard = asyncio.get_running_loop().run_in_executor(None, hear_and_say_nothing)
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        trusted = {"certificate-authority": str(authority.write(tmp_path / "authority")[0])}
        async with ApiServer(await load(written(tmp_path / "one", address, cluster=trusted))) as server:
            asking = asyncio.create_task(server.request("GET", "/"))
            assert await asyncio.to_thread(asked.wait, TIMEOUT_S)
            asking.cancel()
            await asyncio.wait([asking])
        assert await heard == b"hung up"
