"""Fills nodes with GPUs one after the other, and gives a node to at most some teams."""

from collections.abc import Mapping

from maar.plugins import NodeView, PluginHooks, PodView

GPU = "nvidia.com/gpu"


def gpu_packing(arguments: Mapping[str, object]) -> PluginHooks:
    """Make the plugin from its arguments in the scheduler's configuration."""
    weight = float(str(arguments.get("weight", "10")))
    teams = int(str(arguments.get("teams", "2")))

    def score(_pod: PodView, node: NodeView) -> float:
        """Prefer the node on which most GPUs are in use."""
        return weight * node.used.get(GPU, 0) / max(node.allocatable.get(GPU, 0), 1)

    def allows(pod: PodView, node: NodeView) -> bool:
        """Refuse a node that as many other teams use already."""
        others = {one.namespace for one in node.pods if GPU in one.requests} - {pod.namespace}
        return len(others) < teams

    return PluginHooks(concerns=lambda requests: GPU in requests, filter=allows, score=score)
