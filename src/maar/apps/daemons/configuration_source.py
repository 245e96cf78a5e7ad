"""Where a scheduler's configuration comes from: a file or a ConfigMap, followed as it changes."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

from maar.apps.daemons.configuration_text import parse_text
from maar.core.model.metadata import Metadata
from maar.core.policy.configuration import BadConfigurationError, Configuration
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Gone, Refused
from maar.kube.paths import ResourcePath
from maar.kube.record import Reference
from maar.kube.write import get

LOOK_EVERY_S: Final = 2.0
KEYS: Final[tuple[str, ...]] = ("maar-scheduler.conf", "volcano-scheduler.conf")
INSTALLED: Final = "maar-system/maar-scheduler"  # the ConfigMap of an installed scheduler, and of `maar up`

_CONFIG_MAPS: Final = ResourcePath("v1", "configmaps", namespaced=True)


class _ConfigMap(msgspec.Struct):
    metadata: Metadata = Metadata()
    data: dict[str, str] | None = None


_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)


class UnreadableError(Exception):
    """A configuration cannot be read; whether it is valid is not known."""


Read = Callable[[], Awaitable[str]]


class Source:
    """A configuration that may change: its last text, and the object that events about it refer to."""

    def __init__(self, name: str, read: Read, about: Callable[[], Reference | None]) -> None:
        self.name, self._read, self.about = name, read, about
        self._text: str | None = None

    async def changed(self) -> Configuration | None:
        """Read it; give the text if it differs from the last one read, valid or not."""
        text = await self._read()
        if text == self._text:
            return None
        self._text = text
        try:
            return parse_text(text)
        except BadConfigurationError as error:
            raise BadConfigurationError([f"{self.name}: {problem}" for problem in error.problems]) from None


def from_file(file: Path) -> Source:
    """A file; in a container usually a mounted ConfigMap, which is swapped as a whole."""

    async def read() -> str:
        try:
            return await asyncio.to_thread(file.read_text, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableError(f"{file}: cannot be read: {error}") from None

    return Source(str(file), read, lambda: None)


def from_config_map(server: ApiServer, key: str) -> Source:
    """A ConfigMap, under one of the usual keys or the only one it has; where there is none, the default."""
    namespace, _, name = key.partition("/")
    found = Metadata()

    async def read() -> str:
        nonlocal found
        outcome = await get(server, _CONFIG_MAPS, key)
        if isinstance(outcome, Gone):
            return ""
        if isinstance(outcome, Refused) and outcome.code == HTTPStatus.FORBIDDEN:
            raise UnreadableError(f"ConfigMap {key}: {outcome.message}; {_permission(namespace, name)}")
        if not isinstance(outcome, Done):
            raise UnreadableError(f"ConfigMap {key}: {outcome.message}")
        config_map = _CONFIG_MAP.decode(outcome.body)
        found, data = config_map.metadata, config_map.data or {}
        names = [one for one in KEYS if one in data] or list(data)
        if len(names) > 1 and names[0] not in KEYS:
            raise UnreadableError(
                f"ConfigMap {key}: name one of its keys {KEYS[0]}; it has {', '.join(names)}"
            )
        return data[names[0]] if names else ""

    return Source(f"ConfigMap {key}", read, lambda: Reference("v1", "ConfigMap", namespace, name, found.uid))


async def read_installed(server: ApiServer) -> tuple[Configuration | None, str]:
    """The configuration of the installed scheduler; None where it is not known, and why."""
    source = from_config_map(server, INSTALLED)
    try:
        found = await source.changed()
    except UnreadableError as error:
        return None, str(error).partition("; ")[0]  # what follows is for the scheduler
    except BadConfigurationError as error:
        return None, "; ".join(error.problems)
    about = source.about()
    if about is None or not about.uid:
        return None, f"there is no ConfigMap {INSTALLED}"
    return found, ""


def _permission(namespace: str, name: str) -> str:
    """The command that lets the installed scheduler read a ConfigMap outside maar-system."""
    role = f"maar-configuration --namespace={namespace}"
    return (
        f"let it read this one with: kubectl create role {role} --verb=get --resource=configmaps"
        f" --resource-name={name} && kubectl create rolebinding {role} --role=maar-configuration"
        " --serviceaccount=maar-system:maar-scheduler"
    )


async def follow(
    source: Source, accept: Callable[[Configuration], None], refuse: Callable[[str], None]
) -> None:
    """Look again and again until cancelled; what cannot be read or is bad is refused, once."""
    unreadable = ""
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        before, unreadable = unreadable, ""
        try:
            configuration = await source.changed()
        except UnreadableError as error:
            unreadable = str(error)
            if unreadable != before:
                refuse(unreadable)
        except BadConfigurationError as error:
            refuse("; ".join(error.problems))
        else:
            if configuration is not None:
                accept(configuration)
