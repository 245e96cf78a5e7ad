"""The parts of Maar that run beside a cluster, each in a process of its own."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from maar.apps.controllers import ControllerRunner, controllers
from maar.apps.daemons.configuration_source import Source, UnreadableError, follow, from_config_map, from_file
from maar.apps.daemons.health import Checks, can_write, changes_within, happened, serve_status, within
from maar.apps.daemons.leadership import Leadership
from maar.apps.daemons.planned_starts import PlannedStarts
from maar.apps.metrics.controllers import ControllerMetrics
from maar.apps.metrics.registry import Registry, new_registry
from maar.apps.metrics.scheduler import SchedulerMetrics
from maar.apps.metrics.write_failures import WriteFailureCollector
from maar.apps.scheduler.scheduler import Scheduler
from maar.apps.snapshots.recording import Recording, RecordingEngine
from maar.apps.snapshots.taking import Snapshots
from maar.core.controllers.cluster_view import ClusterView
from maar.core.policy.configuration import DEFAULT, BadConfigurationError, Configuration
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.record import Reference

_LOG: Final = logging.getLogger(__name__)

_LONG_CYCLE_S: Final = 120.0  # then it does not end any more
_LONG_SILENCE_S: Final = 60.0
_LONG_FAILURE_S: Final = 30.0

Work = Coroutine[None, None, None]
Announce = Callable[[str], None]


@dataclass(frozen=True)
class DaemonSettings:
    """The cluster, the scheduler name and the lease."""

    kubeconfig: Path | None = None
    context: str | None = None
    name: str = "volcano"
    lease: str = ""  # empty where there is no election
    listen: str = ""  # where metrics and health are shown; empty where they are not
    config: Path | None = None
    config_map: str = ""
    record: Path | None = None
    snapshots: Path = Path()
    planned_starts_s: float = 0.0  # between planned starts of groups; 0: none are written


class BadStartError(Exception):
    """Why the program cannot start, and what to do about it."""


async def schedule(settings: DaemonSettings, announce: Announce) -> None:
    """Run the scheduler until SIGINT or SIGTERM; `announce` gets whether it stands by or leads."""
    async with _beside_cluster(settings) as (api, leadership), AsyncExitStack() as ending:
        source = _source(settings, api)
        recording = _recording(settings.record)
        if recording is not None:
            ending.callback(recording.close)
        snapshots, registry = Snapshots(settings.snapshots), new_registry()
        engine = RecordingEngine(
            await _first(source), settings.name, recording=recording, snapshots=snapshots
        )
        metrics = SchedulerMetrics(registry, engine.tables)
        scheduler = Scheduler(api, engine, observer=metrics, identity=leadership.identity)
        metrics.follow(scheduler.lags)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, snapshots.ask)
        deciding = within(_LONG_CYCLE_S, lambda: scheduler.deciding_since, "a decision has been under way")
        beside = [
            _announce(scheduler.known, scheduler.first_decision, leadership, announce),
            _show(settings.listen, {"decision": deciding}, scheduler, registry),
        ]
        if settings.planned_starts_s:
            beside.append(PlannedStarts(api, engine, scheduler, settings.planned_starts_s).run())
        if source is not None:
            accept, refuse = _configuration_callbacks(settings, source, scheduler)
            beside.append(follow(source, accept, refuse))
        await _until_stopped(scheduler.run(leadership.elected), scheduler.stop, leadership, beside)


async def control(settings: DaemonSettings, announce: Announce) -> None:
    """Run the controllers until SIGINT or SIGTERM; `announce` gets whether they stand by or lead."""
    async with _beside_cluster(settings) as (api, leadership):
        runner = ControllerRunner(api, controllers(), leadership.identity, ClusterView(settings.name))
        runner.metrics = ControllerMetrics(registry := new_registry(), runner.queues, runner.jobs)
        runner.metrics.follow(runner.lags)
        beside = [
            _announce(runner.known, runner.first_round, leadership, announce),
            _show(settings.listen, {}, runner, registry),
        ]
        await _until_stopped(runner.run(leadership.elected), runner.stop, leadership, beside)


async def _show(listen: str, live: Checks, part: Scheduler | ControllerRunner, registry: Registry) -> None:
    """Serve metrics and health where an address is given."""
    if listen:
        registry.register(WriteFailureCollector(part.failures))
        ready = {
            "caches": happened(part.known, "not everything has been listed yet"),
            "watches": changes_within(_LONG_SILENCE_S, part.lags),
            "writes": can_write(_LONG_FAILURE_S, part.failures),
        }
        await serve_status(listen, live, ready, registry)


def _configuration_callbacks(
    settings: DaemonSettings, source: Source, scheduler: Scheduler
) -> tuple[Callable[[Configuration], None], Callable[[str], None]]:
    """The callbacks for a valid configuration, and for an invalid one."""

    def accept(changed: Configuration) -> None:
        _LOG.info("configuration taken over from %s", source.name)
        scheduler.configure(changed)

    def refuse(problem: str) -> None:
        message = f"{problem}; the configuration from before stays"
        _LOG.error("configuration refused: %s", message)
        if (about := _about(settings, source)) is not None:
            scheduler.record_warning(about, "ConfigurationRefused", message)

    return accept, refuse


@asynccontextmanager
async def _beside_cluster(settings: DaemonSettings) -> AsyncIterator[tuple[ApiServer, Leadership]]:
    credentials = await load(settings.kubeconfig, settings.context)
    leadership = Leadership(credentials, settings.lease)
    async with ApiServer(credentials, may_write=leadership.may_write) as api:
        yield api, leadership


async def _announce(
    known: asyncio.Event, elected: asyncio.Event, leadership: Leadership, announce: Announce
) -> None:
    """Announce the state; garbage collection is off until all objects are listed, and skips those objects."""
    gc.disable()
    try:
        await known.wait()
        gc.freeze()
    finally:
        gc.enable()
    if not leadership.elected.is_set():
        announce("standing by")
    await elected.wait()
    announce("at work")


async def _until_stopped(
    work: Work, stop: Callable[[], None], leadership: Leadership, beside: list[Work]
) -> None:
    """Work until a signal comes or the lease is lost; at a signal finish, and only then let others lead."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    working, holding = asyncio.create_task(work), asyncio.create_task(leadership.hold())
    tasks = [working, holding, *map(asyncio.create_task, beside)]
    try:
        running = set(tasks)
        while working in running and holding in running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:  # one after the other: whoever writes ends before the lease is given back
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _source(settings: DaemonSettings, api: ApiServer) -> Source | None:
    if settings.config is not None:
        return from_file(settings.config)
    return from_config_map(api, settings.config_map) if settings.config_map else None


def _recording(file: Path | None) -> Recording | None:
    try:
        return Recording(file) if file is not None else None
    except OSError as error:
        raise BadStartError(f"--record {file}: cannot be written: {error.strerror}") from None


async def _first(source: Source | None) -> Configuration:
    """What to begin with: a scheduler that was given a bad configuration has none from before to go by."""
    try:
        return (await source.changed() if source is not None else None) or DEFAULT
    except UnreadableError as error:
        raise BadStartError(str(error)) from None
    except BadConfigurationError as error:
        raise BadStartError("\n".join(error.problems)) from None


def _about(settings: DaemonSettings, source: Source) -> Reference | None:
    """The object of events about the configuration: its ConfigMap, or the lease."""
    if (about := source.about()) is not None:
        return about
    namespace, _, name = settings.lease.partition("/")
    return Reference("coordination.k8s.io/v1", "Lease", namespace, name, "") if name else None
