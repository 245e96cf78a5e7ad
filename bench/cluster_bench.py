"""A full cluster from nothing: Maar as it is deployed, beside a bare loop of binds and beside kube-scheduler.

Everything is made before a scheduler starts. Binds, events and statuses are counted by watches of
our own, the same for everybody: one of pods that have a node tells of each pod once, when it is
bound. Everybody has a control plane that has just been started: an API server remembers what it has
seen, and the more it remembers, the more of its time goes to collecting garbage.
"""

import argparse
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

import aiohttp
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bind_bench import bare, say

from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.paths import EVENTS, PODS, resource_path_of
from maar.kube.writers import AT_ONCE
from support.control_plane import ControlPlane, find_binaries
from support.load import NAMESPACE, Gang, make, make_nodes, prepare, queue
from support.load_counting import Reached, Tally, added, counting, session
from support.load_daemons import Daemons

GANG: Final = 10
QUEUES: Final = 10
GROUPS: Final = resource_path_of(PodGroup)
BOUND: Final = {"fieldSelector": "spec.nodeName!="}
SCHEDULED: Final = {"fieldSelector": "reason=Scheduled"}
MAAR: Final = "maar scheduler"
PEER: Final = "kube-scheduler"


def main() -> None:
    """Let everybody bind at the first size, and Maar at the others."""
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("--nodes", type=int, nargs="+", default=[1_000, 5_000], help="one run for each size")
    flags.add_argument("--pods", type=int, default=10_000, help="in gangs of ten over ten queues")
    flags.add_argument("--logs", type=Path, help="a folder for what the programs say")
    asked = flags.parse_args()
    if find_binaries() is None:
        print("  skipped: there is no control plane; make kubernetes builds one")
        return
    first, *others = asked.nodes
    rate = uvloop.run(measure(first, asked.pods, asked.logs, peer=True))
    for nodes in others:
        ratio = uvloop.run(measure(nodes, asked.pods, asked.logs, peer=False)) / rate
        show(f"rate at {nodes:,} nodes / at {first:,}", ratio, "target 0.80 to 1.20")


def show(name: str, figure: float, words: str) -> None:
    """Print a line; rates are shown whole, ratios with two digits."""
    shown = f"{figure:>9.2f}          " if words.startswith("target") else f"{figure:>9.0f} binds/s  "
    print(f"  {name:<46}{shown} {words}", flush=True)


async def measure(nodes: int, pods: int, logs: Path | None, *, peer: bool) -> float:
    """Let everybody bind the same, and compare; give Maar's rate."""
    print(f"  {nodes:,} nodes, {pods:,} pods in gangs of {GANG} over {QUEUES} queues", flush=True)
    cluster = partial(fresh, nodes, pods, logs)
    async with cluster("before") as runs:  # before and after, since machines have moods
        before = await runs.bare()
    async with cluster("maar") as runs:
        maar, events_s = await runs.maar()
    async with cluster("after") as runs:
        after, alone_s = await runs.bare(), await runs.bare_events()
    reference = 2 / (1 / before + 1 / after)
    show("bare loop of binds", reference, f"({before:.0f} before, {after:.0f} after)")
    show("maar scheduler / bare", maar / reference, "target at least 0.80")
    words = f"(maar {events_s:.1f} s)"
    print(f"  {'as many events alone, by a bare loop':<46}{alone_s:>9.1f} s         {words}", flush=True)
    if peer:
        async with cluster("peer") as runs:
            show("maar scheduler / kube-scheduler", maar / await runs.peer(), "target at least 3")
    return maar


@asynccontextmanager
async def fresh(nodes: int, pods: int, logs: Path | None, name: str) -> AsyncIterator["Runs"]:
    """A control plane for one of them alone."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = (logs or Path(scratch)) / f"nodes-{nodes}" / name
        folder.mkdir(parents=True, exist_ok=True)
        with ControlPlane(folder, controllers=True) as plane, Daemons(folder) as daemons:
            prepare(plane)
            credentials = await load(plane.kubeconfig)
            async with ApiServer(credentials) as server, session(credentials, AT_ONCE) as client:
                await make_nodes(server, [f"node-{number}" for number in range(nodes)])
                await make(server, [queue(f"queue-{number}") for number in range(QUEUES)])
                yield Runs(plane, daemons, server, client, pods)


@dataclass(frozen=True)
class Runs:
    """A control plane, and the same work for whoever it is for."""

    plane: ControlPlane
    daemons: Daemons
    server: ApiServer
    client: aiohttp.ClientSession
    pods: int

    async def bare(self) -> float:
        """As fast as a program can bind that decides nothing."""
        gangs = self.gangs("nobody")
        async with self.work(gangs) as bound:
            await bare(self.client, [key for gang in gangs for key in gang.pod_keys])
            await bound.reaches(self.pods)
        return bound.rate

    async def bare_events(self) -> float:
        """How long a program takes that does nothing but say so many words."""
        started = perf_counter()
        await say(self.client, NAMESPACE, self.pods)
        return perf_counter() - started

    async def maar(self) -> tuple[float, float]:
        """Our own, from its start to its last word: its rate, and how long the words took after all binds."""
        gangs = self.gangs("volcano")
        async with (
            self.work(gangs) as bound,
            counting(self.client, EVENTS.all(NAMESPACE), SCHEDULED, added) as events,
            counting(self.client, GROUPS.all(NAMESPACE), {}, Reached("Running")) as written,
        ):
            started = perf_counter()
            self.daemons.run(MAAR, "scheduler", self.plane.kubeconfig)
            await self.bound(MAAR, bound, started)
            await events.reaches(self.pods)
            await written.reaches(len(gangs))
            late = [max(0.0, tally.last - bound.last) for tally in (events, written)]
            print(f"  {'':<46}last event {late[0]:.1f} s, last status {late[1]:.1f} s later   target 5 s")
            self.daemons.kill(MAAR)
        return bound.rate, late[0]

    async def peer(self) -> float:
        """The scheduler of Kubernetes with the same pods, which are no gangs to it."""
        async with self.work(self.gangs("default-scheduler")) as bound:
            started = perf_counter()
            program = str((find_binaries() or Path()) / PEER)
            flags = (
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=5000",
                "--kube-api-burst=5000",
            )
            self.daemons.start(PEER, [program, f"--kubeconfig={self.plane.kubeconfig}", *flags])
            await self.bound(PEER, bound, started)
            self.daemons.kill(PEER)
        return bound.rate

    async def bound(self, name: str, bound: Tally, started: float) -> None:
        """Wait for the last bind, and print what it took."""
        await bound.reaches(self.pods)
        show(name, bound.rate, f"the first {bound.first - started:.1f} s after its start")
        used, memory = self.daemons.processor_s(name), self.daemons.peak_memory_mb(name)
        print(f"  {'':<46}{used:.1f} s of processor until then, {memory:.0f} MB at most", flush=True)

    def gangs(self, scheduler: str) -> list[Gang]:
        """The same work for everybody."""
        return [
            Gang(f"gang-{number}", queue=f"queue-{number % QUEUES}", pods=GANG, scheduler=scheduler)
            for number in range(self.pods // GANG)
        ]

    @asynccontextmanager
    async def work(self, gangs: list[Gang]) -> AsyncIterator[Tally]:
        """Make all there is to do, and count what is bound."""
        await make(self.server, [made for gang in gangs for made in gang.documents()])
        async with counting(self.client, PODS.all(NAMESPACE), BOUND, added) as bound:
            yield bound


if __name__ == "__main__":
    main()
