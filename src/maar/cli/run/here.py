"""What travels with a command that runs on this machine: the working folder and the environment."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from maar.cli.failure import CommandError
from maar.cli.run.job import Place
from maar.core.model.node import Node

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

_LOCAL: Final = "local"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Words of a name, between underscores, that announce a secret; TOKENIZERS_PARALLELISM has none of them.
_SECRET: Final = re.compile(
    r"(?:^|[_.-])(?:PAT|PWD|PW|(?:DB)?PASS|JWT|KEY|AUTH|BEARER|COOKIE|DSN|CREDS?|WEBHOOK)(?=$|[_.-])"
    r"|(?<!TIK)TOKEN(?![A-Z])|SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?:API|PRIV|PRIVATE|ACCESS)_?KEY"
    r"|(?:DATABASE|DB|CONNECTION)_(?:URL|URI|STRING)$",
    re.IGNORECASE,
)
# A password in a URL, a JSON web token, a private key: secrets under whatever name.
_SECRET_VALUE: Final = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|^eyJ[\w-]{8,}\.eyJ|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
# Of the terminal or the shell, or decided by the node.
_NOT_SENT: Final = frozenset({
    "_", "PWD", "OLDPWD", "SHLVL", "HOSTNAME", "TERM_SESSION_ID", "WINDOWID", "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER", "MAAR_ARRAY", "MAAR_ARRAY_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX",
})  # fmt: skip
_NOT_SENT_BEGINNINGS: Final = ("SSH_", "BASH_FUNC_", "SYSTEMD_", "INVOCATION_ID", "VC_", "MAAR_VOLUME_")


class Environment(NamedTuple):
    """Variables that travel, and names of those that look like secrets and stay here."""

    sent: dict[str, str]
    withheld: list[str]


async def place_of(cluster: "ClusterClient", image: str, environment: Mapping[str, str]) -> Place:
    """Where a command runs on a cluster: on this machine where that is its node, else in an image."""
    from maar.core.model.node_sizes import NODE_LABEL  # noqa: PLC0415
    from maar.embedded.nodes.machine import host_name  # noqa: PLC0415  see above

    nodes = await _nodes(cluster, f"{NODE_LABEL}={_LOCAL}")
    if host_name() in nodes:
        folder = str(Path.cwd())
        return Place(image, folder, environment, {NODE_LABEL: _LOCAL})
    if image:
        return Place(image)
    if nodes:
        raise CommandError(
            f"this cluster runs commands on {', '.join(nodes)}, and this is {host_name()}; run maar there"
        )
    raise CommandError("this cluster runs images: say which one with --image")


async def _nodes(cluster: "ClusterClient", labels: str) -> list[str]:
    """The names of nodes with labels; none where nodes may not be read."""
    try:
        nodes = await cluster.all(Node, labels)
    except CommandError:
        return []
    named = (node.get("metadata") for node in nodes)
    return [str(metadata.get("name")) for metadata in named if isinstance(metadata, dict)]


def travelling(environment: Mapping[str, str] = os.environ) -> Environment:
    """The environment as a job gets it: all but what is of this terminal, and what looks like a secret.

    A job is stored and can be read by all who may read jobs, so secrets go only by name (--env NAME).
    """
    sent: dict[str, str] = {}
    withheld: list[str] = []
    for name, value in sorted(environment.items()):
        if not _NAME.fullmatch(name) or name in _NOT_SENT or name.startswith(_NOT_SENT_BEGINNINGS):
            continue
        if _SECRET.search(name) or _SECRET_VALUE.search(value):
            withheld.append(name)
        elif _is_text(value):
            sent[name] = value
    return Environment(sent, withheld)


def _is_text(value: str) -> bool:
    """Whether an object can hold a value: bytes that are no text cannot travel."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def variables(given: Iterable[str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of --env: NAME=VALUE, or NAME with the value that it has here."""
    chosen: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not _NAME.fullmatch(name):
            raise CommandError(f"--env {text}: {name!r} is no name of a variable; write NAME=VALUE")
        if not equals and name not in environment:
            raise CommandError(f"--env {name}: it is not set here; write {name}=VALUE")
        chosen[name] = value if equals else environment[name]
    return chosen
