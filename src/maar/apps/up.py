"""`maar up`: an API server, nodes and the scheduler in one process."""

import asyncio
import signal
import sqlite3
from collections.abc import Callable, Collection, Coroutine
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from maar.apps.console.key_file import KeyFileError
from maar.apps.console.place import Place, take_place
from maar.apps.console.settings import ConsoleSettings
from maar.apps.controllers import ControllerRunner, controllers
from maar.apps.daemons.configuration_source import INSTALLED, KEYS
from maar.apps.daemons.planned_starts import PlannedStarts
from maar.apps.scheduler.scheduler import Scheduler
from maar.core.admission.request import Options
from maar.core.controllers.cluster_view import ClusterView
from maar.core.engine import Engine
from maar.core.model.node_sizes import BadNodesError
from maar.core.model.workload import BatchJob, ReplicaSet, StatefulSet
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.embedded.access import ADMINISTRATOR, BadSecretError, certificate, token, write_kubeconfig
from maar.embedded.admission import (
    InProcessAdmission,
    choose_scheduler,
    warn_of_endless,
    warn_of_ignored,
    warn_of_unrun,
)
from maar.embedded.assembly import assemble
from maar.embedded.backup_schedule import keep_backups, keep_last_backup
from maar.embedded.calls import Admission, Admit, Caller, Stage
from maar.embedded.cluster import Cluster
from maar.embedded.controllers.runner import run_controllers
from maar.embedded.data_folder import DataFolderError, unusable
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.cgroups import delegated
from maar.embedded.nodes.gpus import Devices, find_devices
from maar.embedded.nodes.local import LocalNode, LocalNodeSettings, end_processes
from maar.embedded.nodes.machine import host_name, this_machine
from maar.embedded.nodes.pod import FINISHED
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.nodes.specification import parse, register, virtual_nodes
from maar.embedded.nodes.virtual import VirtualNodes
from maar.embedded.server import Server, serve
from maar.embedded.storage_problems import NotStoredError
from maar.embedded.store import Store
from maar.kube.api_server import ApiServer
from maar.kube.credentials import Credentials
from maar.kube.sources import CredentialsError, Proofs
from maar.serving.listening import PortTakenError, listen

DEFAULT_NODES: Final = "4x8cpu,32Gi"
_NAMED: Final = 5  # nodes in one sentence

_ACCOUNT: Final = "system:serviceaccount:maar-system:"
_WORKLOADS: Final = (ReplicaSet, StatefulSet, BatchJob)  # that the embedded server has
_EVERYTHING: Final = ("system:masters", "system:authenticated")
_CALLERS: Final = {
    "admin": ADMINISTRATOR,
    "scheduler": Caller(f"{_ACCOUNT}maar-scheduler", _EVERYTHING),
    "controllers": Caller(f"{_ACCOUNT}maar-controllers", _EVERYTHING),
}


@dataclass(frozen=True)
class UpSettings:
    """What is to be up, and where."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    nodes: tuple[str, ...] | None = None  # None: those that the folder has, or the default in a new one
    is_local: bool = False
    local_gpus: int | None = None  # None: those that are found
    keeps_running: bool = False  # processes of the local node, when it is stopped
    configuration: Configuration = DEFAULT
    configuration_text: str = ""  # the same in Volcano's grammar
    planned_starts_s: float = 0.0  # between planned starts of groups; 0: none are written
    admission: Options = field(default_factory=Options)
    console: ConsoleSettings | None = None  # None: no console


class RunningCluster(NamedTuple):
    """The running cluster, for its caller."""

    url: str
    kubeconfig: Path
    nodes: int
    notes: tuple[str, ...]  # what else is worth knowing, a sentence each
    console: str  # the address of its page; empty where there is none


Announce = Callable[[RunningCluster], None]
Confirm = Callable[[str], bool]


async def up(settings: UpSettings, announce: Announce, confirm: Confirm) -> None:
    """Run a whole cluster until SIGINT or SIGTERM; `announce` is called when it is ready.

    `confirm` is asked whether nodes of an earlier start may go; it is False where nobody is there to answer.
    """
    folder = settings.folder
    with closing(Store(folder)) as store:
        devices = find_devices(settings.local_gpus) if settings.is_local else Devices()
        cluster, notes = _cluster(store, settings, len(devices.names), confirm)
        local, limits = _local_node(cluster, settings, devices)
        notes = (*notes, *limits)
        with ExitStack() as sockets:
            place = sockets.enter_context(closing(listen(settings.host, settings.port)))
            page = None if settings.console is None else take_place(settings.console, "--console-port")
            if page is not None:
                sockets.enter_context(closing(page.socket))
            host, port = place.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            url, tls = f"https://{shown}:{port}", certificate(folder, _names(settings.host))
            callers = _callers(folder, url, tls.certificate.read_bytes())
            server = Server(cluster, callers, PodLogs(cluster, folder).read)
            nodes = store.count("nodes", None)
            opened = "" if page is None else page.address
            standing = RunningCluster(url, _kubeconfig(folder, "admin"), nodes, notes, opened)
            stop, end = asyncio.Event(), asyncio.Event()
            async with asyncio.TaskGroup() as tasks:
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, stop.set)
                serving = tasks.create_task(serve(server, cluster.history, place, tls, end))
                background = [
                    tasks.create_task(one)
                    for one in (
                        *_background(cluster, local, settings, server, url),
                        _announce(server, partial(announce, standing)),
                        *([] if page is None else [_console(settings, server, url, page)]),
                    )
                ]
                await stop.wait()
                for task in background:
                    task.cancel()
                await asyncio.wait(background)  # first those who write, then the server they write to
                end.set()
                await serving
                await asyncio.to_thread(keep_last_backup, folder, store)


def _local_node(
    cluster: Cluster, settings: UpSettings, devices: Devices
) -> tuple[LocalNode | None, tuple[str, ...]]:
    """This machine as a node, where that is asked for, and what is to be said of it."""
    if not settings.is_local:
        end_processes(settings.folder)
        return None, ()
    cgroups, problem = delegated()
    node = LocalNodeSettings(devices, cgroups, settings.keeps_running)
    local = LocalNode(cluster, settings.folder, host_name(), node)
    return local, tuple(filter(None, (devices.sentence, problem)))


def _cluster(
    store: Store, settings: UpSettings, gpus: int, confirm: Confirm
) -> tuple[Cluster, tuple[str, ...]]:
    """The cluster with its nodes, and the messages about nodes of before."""
    is_new = store.count("namespaces", None) == 0
    machine = [this_machine(gpus=gpus)] if settings.is_local else []
    asked = settings.nodes
    if asked is None and is_new:
        asked = () if machine else (DEFAULT_NODES,)
    notes = list[str]()
    if machine and asked is None and (virtual := virtual_nodes(store)):
        number = f"{len(virtual)} virtual node{'' if len(virtual) == 1 else 's'} from an earlier start"
        counted = "They run no programs, but queues share their CPUs and memory too."
        if confirm(f"{settings.folder} has {number}. {counted} Remove them?"):
            asked = ()
        else:
            notes.append(
                f"{settings.folder} still has {number}. {counted}"
                " --nodes none removes them; --data DIR keeps this machine's cluster in a folder of its own."
            )
    try:
        declared = parse(*(asked or ()), taken=[host_name()] if machine else [], may_be_none=True)
    except BadNodesError as error:
        raise BadNodesError(f"--nodes {error}") from None
    nodes = [*declared, *machine]
    with store.transaction():  # all of a new cluster or nothing: another start takes what is there for wanted
        cluster = assemble(store, admit=_admission(store, settings))
        gone = register(cluster, nodes, keep_virtual=asked is None)
        _publish_configuration(cluster, settings.configuration_text)
    if gone:
        notes.append(_left(cluster, gone))
    return cluster, tuple(notes)


def _publish_configuration(cluster: Cluster, configuration: str) -> None:
    """Let clients read what this scheduler decides by, where that of an installed one is."""
    namespace, name = INSTALLED.split("/")
    if cluster.read("namespaces", "", namespace) is None:
        made: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        cluster.create("namespaces", "", made)
    data = {KEYS[0]: configuration}
    if cluster.read("configmaps", namespace, name) is None:
        note = {"maar.sh/written-by": "maar up, when it starts; it is not read again: use --config"}
        metadata = {"name": name, "namespace": namespace, "annotations": note}
        document: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        cluster.create("configmaps", namespace, document)
    else:
        cluster.change("configmaps", namespace, name, lambda value: {**value, "data": data})


def _admission(store: Store, settings: UpSettings) -> Admit:
    """Admission of every write: the rules, and warnings about what is not run or not read here."""
    ours = InProcessAdmission(store, settings.admission)

    def admit(stage: Stage, admission: Admission) -> None:
        choose_scheduler(stage, admission, settings.admission.scheduler_names[0])
        ours(stage, admission)
        warn_of_unrun(stage, admission)
        if settings.is_local:
            warn_of_ignored(stage, admission)
        else:
            warn_of_endless(stage, admission)

    return admit


def _left(cluster: Cluster, gone: Collection[str]) -> str:
    """What becomes of the pods of nodes that are taken away."""
    pods = sum(
        1
        for pod in cluster.all("pods")
        if part(pod, "spec").get("nodeName") in gone and part(pod, "status").get("phase") not in FINISHED
    )
    names = ", ".join(sorted(gone)[:_NAMED]) + (", ..." if len(gone) > _NAMED else "")
    nodes = "1 node is" if len(gone) == 1 else f"{len(gone)} nodes are"
    running = {0: "no pod ran there", 1: "the pod there fails"}.get(pods, f"the {pods} pods there fail")
    return f"{nodes} no longer asked for and gone ({names}): {running}."


def _callers(folder: Path, url: str, authority: bytes) -> dict[str, Caller]:
    """The users by their tokens; each has a kubeconfig."""
    tokens = {name: token(folder, name) for name in _CALLERS}
    if len(set(tokens.values())) < len(tokens):
        files = ", ".join(f"{name}.token" for name in tokens)
        raise BadSecretError(
            f"two of {files} in {folder} have the same token; remove all but admin.token and start again:"
            " they are made anew"
        )
    for name, secret in tokens.items():
        write_kubeconfig(_kubeconfig(folder, name), url, authority, secret)
    return {secret: _CALLERS[name] for name, secret in tokens.items()}


def _background(
    cluster: Cluster, local: LocalNode | None, settings: UpSettings, server: Server, url: str
) -> list[Coroutine[None, None, None]]:
    """Everything that works on the cluster while it is served."""
    work = [
        run_controllers(cluster, (settings.folder / "server.crt").read_text()),
        VirtualNodes(cluster).run(),
        _schedule(settings, server, url),
        _control(settings, url),
        keep_backups(settings.folder, cluster.store),
    ]
    return work if local is None else [*work, local.run()]


class _OwnServer:
    """The credentials of a part of this process; no kubeconfig is read, which takes a quarter of a second."""

    def __init__(self, folder: Path, url: str, name: str) -> None:
        self.name = f"{name}.token in {folder}"
        self._folder, self._url, self._token = folder, url, token(folder, name)

    async def read(self, *, anew: bool) -> Proofs:
        """Give the same ones as long as the process runs."""
        del anew
        return Proofs(
            server=self._url,
            namespace="default",
            authorization=f"Bearer {self._token}",
            certificate_authority=str(self._folder / "server.crt"),
            certificate=None,
            key=None,
            is_server_checked=True,
            server_name=None,
            proxy=None,
        )


async def _credentials(settings: UpSettings, url: str, name: str) -> Credentials:
    source = _OwnServer(settings.folder, url, name)
    return Credentials(source, await source.read(anew=False))


async def _schedule(settings: UpSettings, server: Server, url: str) -> None:
    credentials = await _credentials(settings, url, "scheduler")
    async with ApiServer(credentials) as api, asyncio.TaskGroup() as tasks:
        engine = Engine(settings.configuration)
        scheduler = Scheduler(api, engine)
        tasks.create_task(scheduler.run())
        if settings.planned_starts_s:
            tasks.create_task(PlannedStarts(api, engine, scheduler, settings.planned_starts_s).run())
        await scheduler.first_decision.wait()
        server.is_ready.set()


async def _console(settings: UpSettings, server: Server, url: str, page: Place) -> None:
    """Serve the console; it is imported when all else is up, which nobody has to wait for."""
    await server.is_ready.wait()
    from maar.apps.console.program import serve as serve_console  # noqa: PLC0415

    if settings.console is not None:
        await serve_console(settings.console, await _credentials(settings, url, "admin"), page)


async def _control(settings: UpSettings, url: str) -> None:
    async with ApiServer(await _credentials(settings, url, "controllers")) as api:
        running = controllers(only_schedulers=("volcano",))
        await ControllerRunner(api, running, cluster=ClusterView(workloads=_WORKLOADS)).run()


def _kubeconfig(folder: Path, name: str) -> Path:
    return folder / ("kubeconfig" if name == "admin" else f"{name}.kubeconfig")


async def _announce(server: Server, announce: Callable[[], None]) -> None:
    await server.is_ready.wait()
    announce()


def _names(host: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((host, "127.0.0.1", "::1", "localhost")))


def sentence(error: BaseException, folder: Path) -> str:
    """The message for an error that the user can correct; nothing where it is a bug."""
    match error:
        case BaseExceptionGroup():
            found = [sentence(one, folder) for one in error.exceptions]
            return found[0] if all(found) else ""
        case (
            KeyFileError()
            | DataFolderError()
            | PortTakenError()
            | BadNodesError()
            | CredentialsError()
            | NotStoredError()
        ):
            return str(error)
        case sqlite3.Error():
            return f"--data {folder}: the database cannot be used ({error}); check the disk, and start again"
        case OSError():
            return str(unusable(folder, error))
    return ""
