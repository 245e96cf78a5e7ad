"""Completion of names in a shell: a cluster that cannot be asked completes nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

Complete = Callable[[typer.Context, str], list[str]]


def names_of(kind: type[Object]) -> Complete:
    """Complete the name of an object, in the namespace that the command line has so far."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        given = context.params
        access = Access(given.get("kubeconfig"), given.get("context"), server=given.get("master") or "")
        in_all = bool(given.get("all_namespaces"))

        async def work(cluster: "ClusterClient") -> list[str]:
            namespace = given.get("namespace") or cluster.namespace
            return await cluster.names(kind, namespace if kind.namespaced and not in_all else "")

        try:
            names = on_cluster(access, work)
        except (CommandError, typer.Exit):
            return []
        return sorted({name for name in names if name.startswith(incomplete)})

    return complete


NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        help="The namespace; that of the kubeconfig's context unless set.",
        show_default=False,
        autocompletion=names_of(Namespace),
    ),
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Of all namespaces.")]


@dataclass(frozen=True)
class NamespaceFlags:
    """The namespace that a command works in."""

    namespace: NamespaceOption = ""

    def of(self, cluster: "ClusterClient") -> str:
        """The namespace that is meant."""
        return self.namespace or cluster.namespace


@dataclass(frozen=True)
class NamespacesFlags(NamespaceFlags):
    """The namespace that a command reads from, or all of them."""

    all_namespaces: AllNamespacesOption = False

    def of(self, cluster: "ClusterClient") -> str:
        """The namespace that is meant; empty for all."""
        return "" if self.all_namespaces else super().of(cluster)
