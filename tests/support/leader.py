"""A program that leads and writes as fast as it can until it sees that it leads no longer."""

import asyncio
import sys
from pathlib import Path

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.lease import Timing, lead
from maar.kube.outcome import Refused
from maar.kube.paths import Place
from maar.kube.write import patch

TIMING = Timing(duration_s=2, hold_s=1.2, retry_s=0.2)
WRITTEN = Place("v1", "configmaps", namespaced=True)


async def main(kubeconfig: Path, lease: str, key: str) -> None:
    """Count up in a config map."""
    credentials, number = await load(kubeconfig), 0
    async with (
        lead(credentials, lease, "stopped", TIMING) as term,
        ApiServer(credentials, may_write=term.holding) as server,
    ):
        outcome = None
        while not isinstance(outcome, Refused):
            number += 1
            outcome = await patch(server, WRITTEN, key, {"data": {"n": str(number)}})
    print(outcome.reason)  # noqa: T201  # for the test that runs it


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
