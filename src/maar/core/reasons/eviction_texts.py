"""Why pods are evicted, as sentences."""

from maar.core.cycle.inspect import Eviction
from maar.core.model.reasons import Shortage
from maar.core.reasons.queue_texts import QueueTexts
from maar.core.reasons.shortage_texts import listed_shortages, used_of


def why_evicted(texts: QueueTexts, eviction: Eviction) -> str:
    """For which group a pod is evicted, and why that is allowed, as a sentence."""
    victim, beneficiary = eviction.pod.group, eviction.beneficiary
    if victim is None or beneficiary is None:
        there, least = (victim.placed, victim.min_member) if victim is not None else (0, 0)
        return f"cleanup: {there} of the {least} pods that its group needs to work have nodes, for too long"
    if eviction.action == "cleanup":
        return f"cleanup for {beneficiary.title}: both held nodes and waited for each other, for too long"
    if eviction.action == "reclaim":
        queue = texts.path(beneficiary.queue_name)
        return f"reclaim for {beneficiary.title} of queue {queue}: {_overuse(texts, eviction)}"
    if beneficiary.priority > victim.priority:
        right = f"it has priority {beneficiary.priority}, this one {victim.priority}"
    else:
        right = f"it has had less of queue {texts.path(beneficiary.queue_name)}"
    return f"preempt for {beneficiary.title}: {right}"


def _overuse(texts: QueueTexts, eviction: Eviction) -> str:
    """How far the queue of a victim was above what it deserves when the cycle began."""
    leaf = eviction.pod.group.leaf if eviction.pod.group is not None else None
    if leaf is None:
        return "its queue takes no part"
    deserved, names = texts.queues.deserved[leaf.index], texts.tables.axis.names
    over = [
        Shortage(resource=names[row], wanted=0, used=leaf.used[row], limit=deserved[row])
        for row, _ in eviction.pod.shape.needs
        if leaf.used[row] > deserved[row]
    ]
    path = texts.path(leaf.name)
    return (
        f"queue {path} uses {listed_shortages(over, lambda one: used_of(one, 'deserved'))}"
        if over
        else f"from {path}"
    )
