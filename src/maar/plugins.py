"""What a plugin of Maar is written with: the views that it sees and the hooks that it returns.

These names are stable: a plugin imports them from here, and from nowhere else in Maar.
"""

from maar.core.policy.plugin_hooks import GroupView, NodeView, PluginFactory, PluginHooks, PodView

__all__ = ["GroupView", "NodeView", "PluginFactory", "PluginHooks", "PodView"]
