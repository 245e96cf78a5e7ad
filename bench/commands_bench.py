"""`maar --help` beside an import of typer, and `maar job list` of many jobs beside their unread pages."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from measure import line, median_ms

from maar.cli.job.document import PlainJob
from maar.core.model.job import Job
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.listing import read_pages
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import resource_path_of
from maar.kube.write import create, patch_status
from maar.kube.writers import Writers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.maar_up import MaarUp

JOBS = 10_000
RUNS = 15
PROGRAM = (sys.executable, "-c", "from maar.cli.entry import maar; maar()")


def main() -> None:
    """Measure both."""
    bare_import, help_page = process(sys.executable, "-c", "import typer"), process(*PROGRAM, "--help")
    pairs = [(median_ms(help_page, 1), median_ms(bare_import, 1)) for _ in range(RUNS)]  # side by side
    shown, imported = (median(column) for column in zip(*pairs, strict=True))
    line("maar --help; import typer", shown, imported, "target 1.5x")
    with tempfile.TemporaryDirectory() as folder, MaarUp(Path(folder), alone=True) as server:
        asyncio.run(fill(server.kubeconfig))
        bytes_ms = median_ms(lambda: asyncio.run(bare(server.kubeconfig)), 3)
        for flags in ((), ("-A", "-o", "wide")):
            command = (*PROGRAM, "job", "list", *flags, "--kubeconfig", str(server.kubeconfig))
            name = " ".join(("maar job list", *flags))
            line(
                f"{name}, {JOBS:,} jobs; unread pages",
                median_ms(process(*command), 3),
                bytes_ms,
                "target 2 s",
            )


def process(*command: str) -> Callable[[], object]:
    """Run a program to its end, unseen."""
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # ourselves


async def fill(kubeconfig: Path) -> None:
    """Make the jobs, with statuses as a controller writes them."""
    failed = list[Outcome]()

    def settle(outcome: Outcome) -> None:
        if not isinstance(outcome, Done):
            failed.append(outcome)

    place, requests = resource_path_of(Job), {"cpu": "1", "memory": "1Gi"}
    since = "2026-03-01T12:00:00Z"
    async with ApiServer(await load(kubeconfig)) as server, Writers() as writers:
        for number in range(JOBS):
            name = f"train-{number}"
            key = f"default/{name}"
            document = PlainJob(name, "default", "busybox", 4, 4, requests, requests).document()
            status = {
                "state": {"phase": "Running", "lastTransitionTime": since},
                "running": 4,
                "minAvailable": 4,
                "taskStatusCount": {name: {"phase": {"Running": 4}}},
                "conditions": [
                    {"status": phase, "lastTransitionTime": since} for phase in ("Pending", "Running")
                ],
            }
            writers.submit(key, partial(create, server, place, key, document), settle)
            writers.submit(key, partial(patch_status, server, place, key, status), settle)
        await writers.idle()
    if failed:
        raise SystemExit(f"{len(failed)} jobs could not be made, the first: {failed[0]}")


async def bare(kubeconfig: Path) -> None:
    """List the same and read none of it."""
    async with ApiServer(await load(kubeconfig)) as server:
        await read_pages(server, resource_path_of(Job).all(), {}, lambda _: None)


if __name__ == "__main__":
    main()
