"""The arithmetic of fair shares over a tree of queues; it knows nothing of pods."""

from maar.core.fairshare.answer import FairShares, Share, fair_shares, share_out
from maar.core.fairshare.queue_demand import LARGEST_AMOUNT, BadQueueDemandError, QueueDemand
from maar.core.fairshare.tree import QueueTree

__all__ = [
    "LARGEST_AMOUNT",
    "BadQueueDemandError",
    "FairShares",
    "QueueDemand",
    "QueueTree",
    "Share",
    "fair_shares",
    "share_out",
]
