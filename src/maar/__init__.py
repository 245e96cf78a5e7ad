"""Maar: a queue-based batch scheduler for Kubernetes."""

from importlib.metadata import version

from maar.core.fairshare import BadClaimError, Claim, FairShares, QueueTree, Share, fair_shares, share_out

__version__ = version("maar")
__all__ = ["BadClaimError", "Claim", "FairShares", "QueueTree", "Share", "fair_shares", "share_out"]
