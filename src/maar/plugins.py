"""What plugins of Maar are written with: views and hooks for the scheduler's, a job as its plugins see it.

These names are stable: a plugin imports them from here, and from nowhere else in Maar.
"""

from maar.core.job_plugins.plugin import JobPlugin, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.policy.plugin_hooks import GroupView, NodeView, PluginFactory, PluginHooks, PodView

__all__ = [
    "GroupView",
    "JobPlugin",
    "NodeView",
    "OwnedObject",
    "PluginFactory",
    "PluginHooks",
    "PluginJob",
    "PluginTask",
    "PodView",
    "SshKey",
]
