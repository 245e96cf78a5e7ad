"""Ctrl-C while a job is followed: in a terminal it asks what is meant, elsewhere it cancels the job."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import typer

Answer = Literal["cancel", "detach", "go on"]

_QUESTION: Final = "\nCancel the job [c], leave it running and go [d], or go on watching [Enter]? "
_CHUNK: Final = 1024


class Interruption:
    """Whether Ctrl-C was pressed, and what was answered."""

    def __init__(self) -> None:
        self.came = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT, and where no terminal is there SIGTERM too, as a wish to stop."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT,) if _is_terminal() else (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.came.set)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    async def ask(self) -> Answer:
        """What is to become of the job: a second Ctrl-C, or the end of the input, leaves it running."""
        self.came.clear()
        if not _is_terminal():
            return "cancel"
        typer.echo(_QUESTION, err=True, nl=False)
        answered, again = asyncio.create_task(_line()), asyncio.create_task(self.came.wait())
        await asyncio.wait((answered, again), return_when=asyncio.FIRST_COMPLETED)
        for task in (answered, again):
            task.cancel()
        if not answered.done():
            typer.echo(err=True)
            return "detach"
        match answered.result()[:1].lower():
            case "c":
                return "cancel"
            case "d" | "":
                return "detach"
            case _:
                return "go on"


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


async def _line() -> str:
    """A line from the terminal, with its end; empty where there is no more."""
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()
    ready = asyncio.Event()
    loop.add_reader(number, ready.set)
    try:
        await ready.wait()
        return os.read(number, _CHUNK).decode(errors="replace")
    finally:
        loop.remove_reader(number)
