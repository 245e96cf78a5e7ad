"""All keepers of a cluster."""

from maar.embedded.cluster import Cluster
from maar.embedded.keepers.budgets import BudgetKeeper
from maar.embedded.keepers.events import EventKeeper
from maar.embedded.keepers.garbage import GarbageKeeper
from maar.embedded.keepers.keeper import Keeper
from maar.embedded.keepers.namespaces import NamespaceKeeper
from maar.embedded.keepers.rounds import Rounds
from maar.embedded.keepers.volumes import VolumeKeeper


def keepers(cluster: Cluster, authority: str = "") -> tuple[Keeper, ...]:
    """One of each."""
    return (
        GarbageKeeper(cluster),
        NamespaceKeeper(cluster, authority),
        BudgetKeeper(cluster),
        VolumeKeeper(cluster),
        EventKeeper(cluster),
    )


async def keep(cluster: Cluster, authority: str = "") -> None:
    """Keep a cluster in order until cancelled; `authority` is the certificate that its pods should trust."""
    await Rounds(cluster, keepers(cluster, authority)).run()
