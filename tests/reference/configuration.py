"""The scheduler configuration, in Volcano's grammar: docs/specification/cycle.md, Configuration."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import yaml

DEFAULT_ACTIONS: Final = "enqueue, allocate, backfill, reclaim, preempt, cleanup"
DEFAULT_PLUGINS: Final = (
    "priority",
    "gang",
    "conformance",
    "overcommit",
    "drf",
    "predicates",
    "proportion",
    "nodeorder",
    "binpack",
)


@dataclass(frozen=True)
class Configuration:
    """Volcano's `actions:` and `tiers:`."""

    actions: list[str]
    plugins: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, text: str) -> "Configuration":
        """Without `tiers` every plugin is on."""
        content = yaml.safe_load(text) or {}
        actions = [action.strip() for action in content.get("actions", DEFAULT_ACTIONS).split(",")]
        tiers = content.get("tiers", [{"plugins": [{"name": name} for name in DEFAULT_PLUGINS]}])
        return cls(actions, {plugin["name"]: plugin for tier in tiers for plugin in tier["plugins"]})

    def is_enabled(self, plugin: str, switch: str) -> bool:
        """A switch set to false means that plugin's opinion is not asked there."""
        return plugin in self.plugins and bool(self.plugins[plugin].get(switch, True))

    @property
    def overcommit_factor(self) -> Fraction:
        """The factor is 1.2 unless configured; one below 1 is not used."""
        arguments = self.plugins.get("overcommit", {}).get("arguments") or {}
        factor = Fraction(str(arguments.get("overcommit-factor", "1.2")))
        return factor if factor >= 1 else Fraction("1.2")

    @property
    def topology_labels(self) -> list[str]:
        """The argument `labels` of `network-topology-aware`: labels of nodes, nearest first."""
        arguments = self.plugins.get("network-topology-aware", {}).get("arguments") or {}
        return [label.strip() for label in str(arguments.get("labels", "")).split(",") if label.strip()]
