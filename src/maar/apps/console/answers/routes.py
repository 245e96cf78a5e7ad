"""The questions that the console answers, by method and path."""

from collections.abc import Mapping
from typing import Final

from maar.apps.console.replies import Handler
from maar.apps.console.viewers import Viewers

ROUTES: Final[Mapping[tuple[str, str], Handler]] = {}


async def run_background(viewers: Viewers) -> None:
    """Do what goes on while the console runs, until cancelled: sampling the history, places of jobs."""
    del viewers
