"""An HTTP server that is a part of a process and not the whole of it."""

from collections.abc import Generator
from contextlib import contextmanager

import uvicorn


class QuietServer(uvicorn.Server):
    """Leaves signals to the process it is a part of."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield
