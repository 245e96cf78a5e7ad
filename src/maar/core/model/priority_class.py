"""The priority class: a name for a priority."""

from typing import ClassVar, Literal

from maar.core.model.metadata import Object


class PriorityClass(Object, frozen=True, tag="PriorityClass"):
    """How important pods are that name it, and whether they may push others out."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    plural: ClassVar[str] = "priorityclasses"
    namespaced: ClassVar[bool] = False

    value: int = 0
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
