"""Where a pod may run and beside which pods: node affinity, pod affinity, tolerations, topology spread."""

from typing import Literal

from maar.core.model.metadata import LabelSelector, Record, Requirement


class NodeSelectorTerm(Record, frozen=True):
    """Requirements that a node meets together."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Record, frozen=True):
    """Terms of which a node meets at least one."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNodeTerm(Record, frozen=True):
    """A term worth `weight` to a node that meets it."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Record, frozen=True):
    """Which nodes a pod requires and prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodeTerm, ...] = ()


class PodAffinityTerm(Record, frozen=True):
    """Pods that are meant, and the domain of nodes that counts as together."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PreferredPodTerm(Record, frozen=True):
    """A term worth `weight` to a node where it holds."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Record, frozen=True):
    """Pods to be near to, or for anti-affinity, away from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredPodTerm, ...] = ()


class Affinity(Record, frozen=True):
    """The affinity of a pod: nodes and other pods."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Record, frozen=True):
    """A taint that a pod puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Record, frozen=True):
    """How unevenly pods may lie over the domains of a topology."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelector | None = None
    min_domains: int = 1
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"
    match_label_keys: tuple[str, ...] = ()
