"""Commands to queues and jobs as Volcano's clients create them; a controller carries each out once."""

from typing import TYPE_CHECKING, Final, Literal, cast

from maar.cli.tables import Document
from maar.core.model.job import Command
from maar.core.model.metadata import Object

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

CommandAction = Literal["OpenQueue", "CloseQueue", "AbortJob", "ResumeJob"]

CLUSTER_COMMANDS_IN: Final = "default"  # the namespace of Commands to objects that have none


async def create_command(
    cluster: "ClusterClient",
    kind: type[Object],
    target: Document,
    action: CommandAction,
    *,
    dry_run: bool = False,
) -> None:
    """Create a Command for an object that was read."""
    metadata = cast(Document, target["metadata"])
    namespace = str(metadata["namespace"]) if kind.namespaced else CLUSTER_COMMANDS_IN
    prefix = f"{metadata['name']}-{action.lower()}-"
    reference = {
        "apiVersion": kind.api_version,
        "kind": kind.kind_name(),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    document: Document = {
        "apiVersion": Command.api_version,
        "kind": "Command",
        "metadata": {"generateName": prefix, "namespace": namespace, "ownerReferences": [reference]},
        "target": reference,
        "action": action,
    }
    await cluster.create(Command, f"{namespace}/{prefix}", document, dry_run=dry_run)
