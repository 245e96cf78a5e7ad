"""Builds the embedded cluster: the kinds it serves, and its first objects."""

from maar.embedded.behaviour import ORDINARY
from maar.embedded.calls import Admit, metadata, text
from maar.embedded.cluster import Cluster, Served
from maar.embedded.failures import Json
from maar.embedded.kinds.catalogue import behaviours, prepare
from maar.embedded.kinds.definitions import PLURAL as DEFINITIONS
from maar.embedded.kinds.definitions import Definitions
from maar.embedded.resources import BUILT_IN
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.custom import packaged
from maar.embedded.store import Store


def assemble(store: Store, *, admit: Admit | None = None) -> Cluster:
    """A cluster over a store, with the built-in kinds and those of Maar's CRDs."""
    kinds = [(one, builtin(one.api_version, one.kind)) for one in BUILT_IN]
    kinds += [(one.resource, one.schema) for one in packaged()]
    special = {**behaviours(resource for resource, _ in kinds), DEFINITIONS: Definitions()}
    served = [
        Served(resource, schema, special.get(resource.qualified, ORDINARY)) for resource, schema in kinds
    ]
    cluster = Cluster(store, served, admit=admit)
    prepare(cluster)
    for kind in packaged():
        _publish(cluster, kind.definition)
    return cluster


def _publish(cluster: Cluster, definition: Json) -> None:
    """Let clients see a definition that is served, as it is in this version of Maar."""
    name = text(metadata(definition), "name")
    if cluster.read(DEFINITIONS, "", name) is None:
        cluster.create(DEFINITIONS, "", definition)
    else:
        cluster.change(DEFINITIONS, "", name, lambda value: {**value, "spec": definition["spec"]})
