"""A program that leads and writes as fast as it can while it holds its lease, until it has lost it."""

import asyncio
import sys
from pathlib import Path

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.lease import LeaseTiming, lead
from maar.kube.outcome import Refused
from maar.kube.paths import ResourcePath
from maar.kube.write import patch

TIMING = LeaseTiming(duration_s=2, hold_s=1.2, retry_s=0.2)
WRITTEN = ResourcePath("v1", "configmaps", namespaced=True)


async def main(kubeconfig: Path, lease: str, key: str) -> None:
    """Count up in a config map; say what it is refused, and at the end that the lease was lost."""
    credentials, number = await load(kubeconfig), 0
    async with (
        lead(credentials, lease, "stopped", TIMING) as term,
        ApiServer(credentials, may_write=term.holding) as server,
    ):
        while not term.is_over:
            outcome = await patch(server, WRITTEN, key, {"data": {"n": str(number + 1)}})
            if isinstance(outcome, Refused):
                print(outcome.reason, flush=True)  # noqa: T201  # for the test that runs it
                await asyncio.sleep(TIMING.retry_s)
            else:
                number += 1
    print(f"lost to {term.successor}")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
