"""A client that asks a console as its page does, and reads every answer as JSON."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from maar.apps.console.settings import ConsoleSettings
from support import console
from support.console import POSTED, running_console

PLAIN = ConsoleSettings()
WRITING = ConsoleSettings(allows_writes=True)


class Answered(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: Any


class ConsoleClient:
    """Asks a console."""

    def __init__(self, browser: console.ConsoleClient) -> None:
        self._browser, self.events = browser, browser.events

    async def get(self, path: str, **query: str) -> Answered:
        """Ask for something that must be JSON."""
        answer = await self._browser.get(f"{path}?{urlencode(query)}")
        return Answered(answer.status, answer.json)

    async def post(self, path: str, body: object) -> Answered:
        """Send what a page would send."""
        answer = await self._browser.send("POST", path, headers=POSTED, data=json.dumps(body).encode())
        return Answered(answer.status, answer.json)


@asynccontextmanager
async def console_of(
    kubeconfig: Path, *, token: str = "", namespaces: str = "", settings: ConsoleSettings = PLAIN
) -> AsyncIterator[ConsoleClient]:
    """A console with the kubeconfig's rights, or with those of a token that somebody logs in with."""
    settings = replace(settings, kubeconfig=kubeconfig, login="token" if token else "key", port=0)
    async with running_console(kubeconfig, settings) as browser:
        if token:
            assert (await browser.login(token, namespaces)).status == HTTPStatus.SEE_OTHER
        else:
            await browser.open()
        yield ConsoleClient(browser)
