"""Maar: a queue-based batch scheduler for Kubernetes."""

from importlib.metadata import version

from maar.core.fairshare import BadClaimError, Claim, FairShares, QueueTree, Share, fair_shares, share_out
from maar.core.policy.configuration import BadConfigurationError
from maar.core.policy.opinions import GroupView, NodeView, Opinions, PodView
from maar.core.views.planning import plan

__version__ = version("maar")
__all__ = [
    "BadClaimError",
    "BadConfigurationError",
    "Claim",
    "FairShares",
    "GroupView",
    "NodeView",
    "Opinions",
    "PodView",
    "QueueTree",
    "Share",
    "fair_shares",
    "plan",
    "share_out",
]
