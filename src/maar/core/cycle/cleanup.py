"""Cleanup: in an overused queue, jobs that have been starving too long give up what they hold."""

from operator import attrgetter, gt

from maar.core.cycle.state import Eviction, State


def cleanup(state: State) -> None:
    """Evict the pods of starving groups for which nothing is being freed: they can do no work."""
    ledger = state.ledger
    for row in ledger.rows:
        used = ledger.used_now(row.index) if ledger.held else ledger.used[row.index]
        if not row.is_leaf or not any(map(gt, used, ledger.deserved[row.index])):
            continue
        promised = {state.tables.pods[key].group_key for key in state.promised}
        holding = [group for group in row.groups.values() if group.kind is None]
        for group_row in sorted(holding, key=attrgetter("order")):
            since = group_row.unschedulable_since
            if (
                since is None
                or state.now - since <= state.configuration.grace_seconds
                or group_row.key in promised
            ):
                continue
            group = state.group(group_row)
            pods = sorted(state.holders(group), key=state.pod_order)
            if not group.is_starving or state.breaks_promise(pods):
                continue
            if state.budgets.allow(tuple(pods)):
                state.budgets.spend(tuple(pods))
                for pod in pods:
                    state.evict(pod)
                    state.record(Eviction(pod, None, "cleanup"))
