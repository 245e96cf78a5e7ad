"""Maar: a queue-based batch scheduler for Kubernetes."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # at run time each is imported when it is used: commands should be able to say at once
    from maar.api.errors import InputError, PlanError, SimulationError
    from maar.api.plan import plan
    from maar.api.simulate import Simulated, simulate
    from maar.api.whatif import whatif
    from maar.core.answers.plan.answer import Planned
    from maar.core.answers.whatif.ask import WhatIf
    from maar.core.answers.whatif.known_objects import BadChangeError
    from maar.core.fairshare import (
        BadQueueDemandError,
        FairShares,
        QueueDemand,
        QueueTree,
        Share,
        fair_shares,
        share_out,
    )
    from maar.core.policy.configuration import BadConfigurationError
    from maar.core.policy.plugin_hooks import GroupView, NodeView, PluginHooks, PodView

    __version__: str

__all__ = [
    "BadChangeError",
    "BadConfigurationError",
    "BadQueueDemandError",
    "FairShares",
    "GroupView",
    "InputError",
    "NodeView",
    "PlanError",
    "Planned",
    "PluginHooks",
    "PodView",
    "QueueDemand",
    "QueueTree",
    "Share",
    "Simulated",
    "SimulationError",
    "WhatIf",
    "fair_shares",
    "plan",
    "share_out",
    "simulate",
    "whatif",
]

_MODULES: Final = {
    "maar.api.errors": ("InputError", "PlanError", "SimulationError"),
    "maar.api.plan": ("plan",),
    "maar.api.simulate": ("Simulated", "simulate"),
    "maar.api.whatif": ("whatif",),
    "maar.core.answers.plan.answer": ("Planned",),
    "maar.core.answers.whatif.known_objects": ("BadChangeError",),
    "maar.core.answers.whatif.ask": ("WhatIf",),
    "maar.core.fairshare": (
        "BadQueueDemandError", "QueueDemand", "FairShares", "QueueTree", "Share", "fair_shares", "share_out",
    ),
    "maar.core.policy.configuration": ("BadConfigurationError",),
    "maar.core.policy.plugin_hooks": ("GroupView", "NodeView", "PluginHooks", "PodView"),
}  # fmt: skip
_WHERE: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("maar")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
