"""Twenty minutes of coming and going: the memory of scheduler and controllers stays what it was (law S5)."""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from time import monotonic
from typing import Final

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.paths import PODS, resource_path_of
from maar.kube.write import delete, patch
from support.control_plane import ControlPlane, find_binaries
from support.load import make, make_nodes, prepare, queue
from support.load_churn import Churn, Habits, reservations
from support.load_daemons import Daemons

NODES: Final = 50
NODE_CPU: Final = 16
SIZE: Final = {"cpu": str(NODE_CPU), "memory": "128Gi", "pods": "110"}
PARTS: Final = ("scheduler", "controllers")
SAMPLE_S: Final = 2.0
GROWTH: Final = 1.05  # of the last third over the middle third: more than that is a leak
QUEUES: Final = resource_path_of(Queue)


def main() -> int:
    """Print the memory of each minute; leave with 1 where it grows."""
    flags = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    flags.add_argument("--minutes", type=float, default=20.0)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--logs", type=Path, help="a folder for what the programs say")
    asked = flags.parse_args()
    if find_binaries() is None:
        print("  skipped: there is no control plane; make kubernetes builds one")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.logs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        with ControlPlane(folder, controllers=True) as plane, Daemons(folder) as daemons:
            prepare(plane)
            samples = uvloop.run(soak(plane, daemons, asked.minutes * 60, random.Random(asked.seed)))
    return max([verdict(part, [one[part] for one in samples]) for part in PARTS])


async def soak(
    plane: ControlPlane, daemons: Daemons, seconds: float, rng: random.Random
) -> list[dict[str, float]]:
    """Come and go, and measure; give the megabytes of each process, sample by sample."""
    capacity_cpu, samples = NODES * NODE_CPU, list[dict[str, float]]()
    async with ApiServer(await load(plane.kubeconfig)) as server:
        await make_nodes(server, [f"node-{number}" for number in range(NODES)], SIZE)
        await make(server, reservations(capacity_cpu))
        churn = Churn(server, Habits(("guests", "research", "production"), pause_s=0.02), capacity_cpu, rng)
        for part in PARTS:
            daemons.run(part, part, plane.kubeconfig)
            await daemons.until_at_work(part)
        async with churn.watching():
            churn.begin()
            beside = [
                asyncio.create_task(work(server, churn)) for work in (finish_pods, open_and_close_queues)
            ]
            started, minute = monotonic(), 0
            while (passed := monotonic() - started) < seconds:
                await asyncio.sleep(SAMPLE_S)
                daemons.check()
                for task in beside:
                    if task.done():
                        task.result()
                samples.append({part: daemons.memory_mb(part) for part in PARTS})
                if passed >= 60 * (minute + 1):
                    minute += 1
                    show(minute, samples, churn)
            for task in beside:
                task.cancel()
    return samples


def show(minute: int, samples: Sequence[dict[str, float]], churn: Churn) -> None:
    """Print how things stand after a minute."""
    latest = samples[-int(60 / SAMPLE_S) :]
    memory = "   ".join(f"{part} {mean([one[part] for one in latest]):6.1f} MB" for part in PARTS)
    count = f"{churn.made:,} gangs so far, {len(churn.pods):,} pods now, {churn.evicted:,} evictions"
    print(f"  minute {minute:>3}   {memory}   {count}", flush=True)


async def finish_pods(server: ApiServer, churn: Churn) -> None:
    """Let pods come to their end, as work does."""
    while True:
        await asyncio.sleep(0.1)
        bound = [pod for pod in churn.pods.values() if pod.spec.node_name and not pod.is_finished]
        for pod in churn.rng.sample(bound, min(2, len(bound))):
            await patch(server, PODS, pod.key, {"status": {"phase": "Succeeded"}}, subresource="status")


async def open_and_close_queues(server: ApiServer, churn: Churn) -> None:
    """Make queues, open and close them, and take them away."""
    number = 0
    while True:
        name, number = f"passing-{number}", number + 1
        await make(server, [queue(name, state=churn.rng.choice(("Open", "Closed")))])
        for state in ("Closed", "Open", "Closed"):
            await asyncio.sleep(0.2)
            await patch(server, QUEUES, name, {"spec": {"state": state}})
        await delete(server, QUEUES, name)


def verdict(part: str, memory: Sequence[float]) -> int:
    """Compare the last third with the middle third, the first being the time in which caches fill."""
    third = len(memory) // 3
    middle, last = mean(memory[third : 2 * third]), mean(memory[2 * third :])
    words = f"{middle:.1f} MB in the middle third, {last:.1f} MB in the last"
    print(f"  {part:<46}{last / middle:>9.3f}           target at most {GROWTH}   ({words})")
    return int(last > GROWTH * middle)


if __name__ == "__main__":
    sys.exit(main())
