"""The embedded cluster put together: what it serves, and what is there from the start."""


from maar.embedded.behaviour import ORDINARY
from maar.embedded.calls import Admit
from maar.embedded.cluster import Cluster, Served
from maar.embedded.kinds import behaviours, prepare
from maar.embedded.resources import BUILT_IN
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.custom import packaged
from maar.embedded.store import Store


def assemble(store: Store, *, admit: Admit | None = None) -> Cluster:
    """A cluster over a store, with the built-in kinds and those of Maar's CRDs."""
    served = [
        Served(one, builtin(one.api_version, one.kind), behaviours.get(one.qualified, ORDINARY))
        for one in BUILT_IN
    ]
    served += [Served(one.resource, one.schema) for one in packaged()]
    cluster = Cluster(store, served, admit=admit)
    prepare(cluster)
    return cluster
