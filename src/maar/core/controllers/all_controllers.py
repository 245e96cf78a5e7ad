"""The list of Maar's controllers."""

from collections.abc import Collection

from maar.core.controllers.controller import Controller
from maar.core.controllers.pod_groups import MissingGroups
from maar.core.controllers.queue_states import QueueStates
from maar.core.controllers.quotas import NamespaceQuotas
from maar.core.controllers.unserved_pods import UnservedPods


def all_controllers(only_schedulers: Collection[str] = ()) -> tuple[Controller, ...]:
    """All controllers; only where no other scheduler than these runs can one say that pods are not served."""
    unserved = (UnservedPods(only_schedulers),) if only_schedulers else ()
    return (QueueStates(), MissingGroups(), NamespaceQuotas(), *unserved)
