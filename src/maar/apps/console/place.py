"""Where a console is: its socket, its key, and the address to open; all that is known before it serves."""

import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from maar.apps.console.key_file import kept_key, new_key
from maar.apps.console.settings import ConsoleSettings
from maar.serving.listening import bound, listen

DEFAULT_PORT: Final = 7480
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # what is opened to reach it from here


@dataclass(frozen=True)
class Place:
    """A socket that takes connections already, and the key that lets people in; empty: their tokens do."""

    socket: socket.socket
    address: str = field(repr=False)  # it has the key
    key: str = field(repr=False)
    scheme: str = "http"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.socket.getsockname()[1])


def take_place(settings: ConsoleSettings, flag: str = "--port") -> Place:
    """Listen where the settings say; where they name no port, at the usual one or at a free one."""
    key = (
        ""
        if settings.login != "key"
        else new_key()
        if settings.key_file is None
        else kept_key(settings.key_file)
    )
    taken = _listen(settings.host, settings.port, flag)
    host, port = _ANYWHERE.get(settings.host, settings.host), taken.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    scheme = "http" if settings.certificate is None else "https"
    origin = settings.public_url.rstrip("/") or f"{scheme}://{shown}:{port}"
    return Place(taken, f"{origin}/open?key={key}" if key else f"{origin}/", key, scheme)


def _listen(host: str, port: int | None, flag: str) -> socket.socket:
    if port is not None:
        return listen(host, port, flag)
    with suppress(OSError):
        return bound(host, DEFAULT_PORT)
    return listen(host, 0)
