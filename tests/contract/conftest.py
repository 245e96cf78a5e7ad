"""The servers that the contract holds for: a real kube-apiserver, and the one that Maar has inside."""

import asyncio
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from maar.core.model.kinds import plain
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Conflict, Done
from maar.kube.paths import ResourcePath
from maar.kube.write import create, get
from support.control_plane import ControlPlane
from support.faults import Proxy, proxy
from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.until import until_async
from support.what_is_left import paths, remove_all_but

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
DEFINITIONS = ResourcePath("apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)
NAMESPACES = ResourcePath("v1", "namespaces", namespaced=False)


@dataclass(frozen=True)
class Server:
    """An API server under test: the administrator's kubeconfig, and how to restart it at the same address."""

    kubeconfig: Path
    restart: Callable[[], None]


Starting = Callable[[Path], AbstractContextManager[Server]]


@contextmanager
def real(folder: Path) -> Iterator[Server]:
    """kube-apiserver with etcd and the controllers that Kubernetes itself needs."""
    needs_kubernetes()
    with ControlPlane(folder, controllers=True) as plane:

        def restart() -> None:
            plane.stop_api_server()
            plane.start_api_server()

        yield Server(plane.kubeconfig, restart)


@contextmanager
def embedded(folder: Path) -> Iterator[Server]:
    """The server that Maar has inside, without anybody who schedules."""
    with MaarUp(folder, alone=True) as up:

        def restart() -> None:
            up.stop(signal.SIGTERM)
            up.start()

        yield Server(up.kubeconfig, restart)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Starting], Server]]:
    """Start a server when the first test asks for it, and keep it for all others."""
    with ExitStack() as life:
        yield cache(lambda starting: life.enter_context(starting(tmp_path_factory.mktemp("server"))))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(real, id="real"),
        pytest.param(embedded, id="embedded", marks=pytest.mark.embedded),
    ],
)
def server(request: pytest.FixtureRequest, running: Callable[[Starting], Server]) -> Iterator[Server]:
    """The server, on which tests of other files have left nothing that a decision would count."""
    found = running(request.param)
    before = asyncio.run(paths(found.kubeconfig))
    yield found
    asyncio.run(remove_all_but(before, found.kubeconfig))


@pytest.fixture
def kubeconfig(server: Server) -> Path:
    """The administrator's."""
    return server.kubeconfig


@pytest.fixture
def restart(server: Server) -> Callable[[], None]:
    """Stop the server and start it again; what was written is still there."""
    return server.restart


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def api(server: Server) -> AsyncIterator[ApiServer]:
    async with ApiServer(await load(server.kubeconfig)) as api:
        yield api


@pytest.fixture
async def faults(server: Server, tmp_path: Path) -> AsyncIterator[tuple[Proxy, ApiServer]]:
    """A proxy that can misbehave, and a client that goes through it."""
    async with (
        proxy(server.kubeconfig, tmp_path) as (passing, kubeconfig),
        ApiServer(await load(kubeconfig)) as through,
    ):
        yield passing, through


@pytest.fixture
async def namespace(api: ApiServer) -> str:
    """A namespace that nobody else uses."""
    name = f"contract-{secrets.token_hex(4)}"
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert isinstance(await create(api, NAMESPACES, name, document), Done)
    account = ResourcePath("v1", "serviceaccounts", namespaced=True)
    await until_async(
        "the namespace has its service account", lambda: _is_there(api, account, f"{name}/default")
    )
    return name


@pytest.fixture
async def crds(api: ApiServer) -> None:
    """Maar's own kinds are served."""
    for file in CRDS.glob("*.yaml"):
        definition: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        name = definition["metadata"]["name"]
        assert isinstance(await create(api, DEFINITIONS, name, definition), Done | Conflict)
        await until_async(f"{name} is served", partial(_is_established, api, name))


async def _is_there(api: ApiServer, place: ResourcePath, key: str) -> bool:
    return isinstance(await get(api, place, key), Done)


async def _is_established(api: ApiServer, name: str) -> bool:
    found = await get(api, DEFINITIONS, name)
    assert isinstance(found, Done)
    definition: Any = plain(found.body)
    conditions = definition.get("status", {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
