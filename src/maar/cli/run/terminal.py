"""The terminal of `maar run`: what pods print, and Ctrl-C, which asks there what is meant."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final, Literal

import typer

from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.paths import PODS

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


_LONGEST_SILENCE_S: Final = 30 * 86_400.0  # a program may compute for days before it prints a word
_AGAIN_S: Final = 1.0


class OutputPrinter:
    """Prints what pods print; with a prefix where there are several."""

    def __init__(self, server: ApiServer, namespace: str, *, prefixes: bool) -> None:
        self._server, self._namespace, self._prefixes = server, namespace, prefixes
        self.may_print = asyncio.Event()  # not while somebody is asked something
        self.may_print.set()

    async def follow(self, pod: str) -> None:
        """Print all that a pod prints, until it has ended or is gone."""
        place = _Position()
        while True:
            try:
                return await self._follow_from(pod, place)
            except ApiError as error:
                if error.code == HTTPStatus.NOT_FOUND:
                    return None
            except UnansweredError:
                pass  # the follower of the job says so
            place.begin_again()
            await asyncio.sleep(_AGAIN_S)

    async def _follow_from(self, pod: str, place: "_Position") -> None:
        prefix = f"[{pod}] ".encode() if self._prefixes else b""
        path = PODS.one(f"{self._namespace}/{pod}", "log")
        query = {"follow": "true", "timestamps": "true"}
        async with self._server.stream(path, query, _LONGEST_SILENCE_S) as stream:
            async for lines in stream:
                await self.may_print.wait()
                for line in lines:
                    stamp, _, text = line.partition(b" ")
                    if place.is_new(stamp):
                        sys.stdout.buffer.write(prefix + text + b"\n")
                sys.stdout.buffer.flush()


class _Position:
    """How far a log has been printed: lines may have the same time, so those of the last are counted."""

    def __init__(self) -> None:
        self._last, self._printed, self._to_skip = b"", 0, 0

    def begin_again(self) -> None:
        """The log is read from its beginning once more."""
        self._to_skip = self._printed

    def is_new(self, stamp: bytes) -> bool:
        """Whether the next line, of that time, has not been printed yet."""
        if stamp < self._last:
            return False
        if stamp == self._last and self._to_skip:
            self._to_skip -= 1
            return False
        self._printed = self._printed + 1 if stamp == self._last else 1
        self._last, self._to_skip = stamp, 0
        return True
