"""The questions that the console answers, by method and path."""

import asyncio
from collections.abc import Mapping
from typing import Final

from maar.apps.console.answers.apply import apply
from maar.apps.console.answers.explanations import explanation
from maar.apps.console.answers.history import history, run_history
from maar.apps.console.answers.job_page import job_page
from maar.apps.console.answers.places import run_places
from maar.apps.console.answers.queue_page import queue_page
from maar.apps.console.answers.whatif import whatif
from maar.apps.console.replies import Handler
from maar.apps.console.viewers import Viewers

ROUTES: Final[Mapping[tuple[str, str], Handler]] = {
    ("GET", "/api/queue"): queue_page,
    ("GET", "/api/job"): job_page,
    ("GET", "/api/explanation"): explanation,
    ("POST", "/api/whatif"): whatif,
    ("POST", "/api/apply"): apply,
    ("GET", "/api/history"): history,
}


async def run_background(viewers: Viewers) -> None:
    """Do what goes on while the console runs, until cancelled: sampling the history, places of jobs."""
    await asyncio.gather(run_history(viewers), run_places(viewers))
