"""Cleanup: in an overused queue, jobs that have been starving too long give up what they hold."""

from math import inf, nextafter
from operator import attrgetter, gt

from maar.core.cycle.state import Eviction, State


def cleanup(state: State) -> None:
    """Evict the pods of starving groups for which nothing is being freed: they can do no work.

    Time alone does that, so the plan says when the next grace period is over.
    """
    ledger = state.ledger
    for row in ledger.rows:
        if not row.is_leaf or not any(map(gt, ledger.used_now(row.index), ledger.deserved[row.index])):
            continue
        promised = {state.tables.pods[key].group_key for key in state.promised}
        holding = [group for group in row.groups.values() if group.kind is None]
        for group_row in sorted(holding, key=attrgetter("order")):
            if group_row.key in promised or not any(group_row.used):
                continue
            group = state.group(group_row)
            pods = sorted(state.holders(group), key=state.pod_order)
            if not pods or not group.is_starving:
                continue
            since = group_row.unschedulable_since
            if since is None:
                begins = group.was_unschedulable or not group.pending  # the plan gives it the condition
                since = state.now if begins else inf
            if state.now <= (over := since + state.configuration.grace_seconds):
                state.times_to_come.append(nextafter(over, inf))  # it has to starve for longer
                continue
            if state.breaks_promise(pods):
                continue
            if state.budgets.allow(tuple(pods)):
                state.budgets.spend(tuple(pods))
                for pod in pods:
                    state.evict(pod)
                    state.record(Eviction(pod, None, "cleanup"))
