"""Controllers at work beside an API server, for as long as a block takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maar.apps.controllers import ControllerRunner


@asynccontextmanager
async def running(runner: ControllerRunner) -> AsyncIterator[None]:
    """Run controllers from their first round until the block ends."""
    task = asyncio.create_task(runner.run())
    try:
        await runner.first_round.wait()
        yield
    finally:
        runner.stop()
        await task
