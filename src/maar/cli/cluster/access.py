"""The cluster that a command works on: how it is chosen and reached."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from maar.cli.entry import INTERRUPTED, raise_when_interrupted

if TYPE_CHECKING:  # at run time it is imported where it is used: that takes longer than most commands
    from maar.cli.cluster.client import ClusterClient

T = TypeVar("T")

_BETWEEN_LOOKS_S: Final = 0.2

KubeconfigOption = Annotated[
    Path | None,
    typer.Option("--kubeconfig", help="The kubeconfig to use instead of $KUBECONFIG or the user's own."),
]
ContextOption = Annotated[
    str | None, typer.Option("--context", help="The context of the kubeconfig to use instead of its current.")
]


@dataclass(frozen=True)
class Access:
    """How to find the cluster; --kubeconfig and --context of every command that works on one."""

    kubeconfig: KubeconfigOption = None
    context: ContextOption = None
    server: str = ""  # an address that takes the place of the kubeconfig's


def on_cluster(access: Access, work: "Callable[[ClusterClient], Awaitable[T]]") -> T:
    """Do something on a cluster; every failure is a sentence with the next step."""
    from maar.cli.cluster.client import connected  # noqa: PLC0415  # see above

    async def session() -> T:
        async with connected(access) as cluster:
            return await work(cluster)

    raise_when_interrupted()
    try:
        return asyncio.run(session())
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again until something is so."""
    while not await is_so():  # noqa: ASYNC110  # a server is asked, nothing sets an event
        await asyncio.sleep(_BETWEEN_LOOKS_S)
