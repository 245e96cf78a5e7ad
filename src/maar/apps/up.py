"""`maar up`: an API server, nodes and the scheduler in one process."""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from maar.apps.controllers import ControllerRunner, controllers
from maar.apps.scheduler.scheduler import Scheduler
from maar.core.admission.request import Options
from maar.core.engine import Engine
from maar.core.model.workload import BatchJob, ReplicaSet, StatefulSet
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.embedded.access import ADMINISTRATOR, certificate, token, write_kubeconfig
from maar.embedded.admission import InProcessAdmission
from maar.embedded.assembly import assemble
from maar.embedded.calls import Caller
from maar.embedded.cluster import Cluster
from maar.embedded.keepers.keep import keep
from maar.embedded.nodes.local import LocalNode
from maar.embedded.nodes.machine import host_name, this_machine
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.nodes.registration import register
from maar.embedded.nodes.specification import parse
from maar.embedded.nodes.virtual import VirtualNodes
from maar.embedded.server import Server
from maar.embedded.serving import listen, serve
from maar.embedded.store import Store
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load

_LOG: Final = logging.getLogger(__name__)

_ACCOUNT: Final = "system:serviceaccount:maar-system:"
_WORKLOADS: Final = (ReplicaSet, StatefulSet, BatchJob)  # that the embedded server has
_EVERYTHING: Final = ("system:masters", "system:authenticated")
_CALLERS: Final = {
    "admin": ADMINISTRATOR,
    "scheduler": Caller(f"{_ACCOUNT}maar-scheduler", _EVERYTHING),
    "controllers": Caller(f"{_ACCOUNT}maar-controllers", _EVERYTHING),
}


@dataclass(frozen=True)
class Settings:
    """What is to be up, and where."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    nodes: tuple[str, ...] = ()
    is_local: bool = False
    configuration: Configuration = DEFAULT
    admission: Options = field(default_factory=Options)


Say = Callable[[str, Path, int], None]  # the address, the kubeconfig and how many nodes there are


async def up(settings: Settings, say: Say) -> None:
    """Run a whole cluster until SIGINT or SIGTERM; `say` hears when it is ready."""
    folder = settings.folder
    with closing(Store(folder)) as store:
        cluster = assemble(store, admit=InProcessAdmission(store, settings.admission))
        machine = [this_machine()] if settings.is_local else []
        nodes = [*parse(*settings.nodes, taken=[host_name()] if machine else []), *machine]
        register(cluster, nodes)
        local = LocalNode(cluster, folder, host_name()) if machine else None
        place = listen(settings.host, settings.port)
        host, port = place.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        url, tls = f"https://{shown}:{port}", certificate(folder, _names(settings.host))
        authority = tls.certificate.read_bytes()
        for name in _CALLERS:
            write_kubeconfig(_kubeconfig(folder, name), url, authority, token(folder, name))
        callers = {token(folder, name): caller for name, caller in _CALLERS.items()}
        server = Server(cluster, callers, PodLogs(cluster, folder).read)
        stop, end = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(serve(server, cluster.history, place, tls, end))
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
            background = [
                tasks.create_task(one)
                for one in (
                    *_background(cluster, local, settings, server),
                    _announce(server, partial(say, url, _kubeconfig(folder, "admin"), len(nodes))),
                )
            ]
            await stop.wait()
            for task in background:
                task.cancel()
            await asyncio.wait(background)  # first those who write, then the server they write to
            end.set()
            await serving


def _background(
    cluster: Cluster, local: LocalNode | None, settings: Settings, server: Server
) -> list[Coroutine[None, None, None]]:
    """Everything that works on the cluster while it is served."""
    work = [
        keep(cluster, (settings.folder / "server.crt").read_text()),
        VirtualNodes(cluster).run(),
        _schedule(settings, server),
        _control(settings),
    ]
    return work if local is None else [*work, local.run()]


async def _schedule(settings: Settings, server: Server) -> None:
    async with ApiServer(await load(_kubeconfig(settings.folder, "scheduler"))) as api:
        scheduler = Scheduler(api, Engine(settings.configuration))
        running = asyncio.create_task(scheduler.run())
        try:
            await scheduler.first_decision.wait()
            server.is_ready.set()
            await running
        finally:
            running.cancel()


async def _control(settings: Settings) -> None:
    async with ApiServer(await load(_kubeconfig(settings.folder, "controllers"))) as api:
        await ControllerRunner(api, controllers(workloads=_WORKLOADS), workloads=_WORKLOADS).run()


def _kubeconfig(folder: Path, name: str) -> Path:
    return folder / ("kubeconfig" if name == "admin" else f"{name}.kubeconfig")


async def _announce(server: Server, say: Callable[[], None]) -> None:
    await server.is_ready.wait()
    say()


def _names(host: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((host, "127.0.0.1", "::1", "localhost")))
