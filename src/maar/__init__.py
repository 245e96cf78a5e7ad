"""Maar: a queue-based batch scheduler for Kubernetes."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from maar.core.fairshare import BadClaimError, Claim, FairShares, QueueTree, Share, fair_shares, share_out
from maar.core.policy.configuration import BadConfigurationError
from maar.core.policy.opinions import GroupView, NodeView, Opinions, PodView
from maar.core.views.planned import Planned

if TYPE_CHECKING:
    from maar.cli.library import PlanError, plan

__version__ = version("maar")
__all__ = [
    "BadClaimError",
    "BadConfigurationError",
    "Claim",
    "FairShares",
    "GroupView",
    "NodeView",
    "Opinions",
    "PlanError",
    "Planned",
    "PodView",
    "QueueTree",
    "Share",
    "fair_shares",
    "plan",
    "share_out",
]


def __getattr__(name: str) -> object:
    """Import what reads files only where it is used: it takes longer than everything else here."""
    if name in {"plan", "PlanError"}:
        from maar.cli import library  # noqa: PLC0415  # see above

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
