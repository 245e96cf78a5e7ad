"""On loan: units that alone exceed what their queue deserves, from the definition."""

from collections.abc import Collection, Iterator, Sequence

from maar.core.model.pod import Pod
from properties.cluster_reading import Moment
from properties.cycle_outcomes import request
from properties.definitions import falls_short, number, total


def loaned(moment: Moment, resources: Collection[str]) -> set[str]:
    """The pods that are on loan on one of these resources."""
    found = set[str]()
    for key in moment.reading.groups:
        for unit in loaned_units(moment, key, resources):
            found |= {pod.key for pod in unit}
    return found


def loaned_units(moment: Moment, group: str, resources: Collection[str]) -> Iterator[list[Pod]]:
    """The units of a group that are on loan: those that exceed deserved, and the surplus of such a gang."""
    leaf = moment.reading.groups[group].spec.queue
    if leaf not in moment.reading.leaves:
        return
    surplus, gang = offered(moment, group)
    is_gang_on_loan = exceeds(moment, leaf, gang, resources)
    for unit in ([pod] for pod in surplus):
        if is_gang_on_loan or exceeds(moment, leaf, unit, resources):
            yield unit
    if is_gang_on_loan:
        yield gang


def exceeds(moment: Moment, leaf: str, pods: Sequence[Pod], resources: Collection[str]) -> bool:
    """Whether pods together use more of one of these resources than a leaf deserves."""
    together = total(pod.request for pod in pods if pod.key in moment.holders)
    return any(together[one] > moment.reading.deserved(leaf, one) for one in resources)


def offered(moment: Moment, group: str) -> tuple[list[Pod], list[Pod]]:
    """The surplus pods that a group could give, least important first, and its gang, empty if it cannot."""
    reading, running = moment.reading, moment.running(group)
    placed = [pod for pod in reading.pods_of[group] if pod.key in moment.places]
    if not running:
        return [], []
    is_free = not any(map(reading.is_protected, running))
    if moment.is_starving(group):
        return [], running if is_free else []
    spec, least, left, surplus = reading.groups[group], moment.standing_minimum(group), placed, list[Pod]()
    for pod in sorted(running, key=lambda pod: (reading.pod_priority(pod), -number(pod))):
        rest = [one for one in left if one is not pod]
        if not reading.is_protected(pod) and not falls_short(spec, least, rest):
            surplus.append(pod)
            left = rest
    is_whole = is_free and placed == running and spec.spec.min_member > 0  # with no pod that is yet to come
    return surplus, left if is_whole else []


def would_run_on_loan(moment: Moment, group: str, pods: Sequence[Pod]) -> set[str]:
    """The resources of which a group's gang, with these pods, is more than its queue deserves."""
    reading, spec = moment.reading, moment.reading.groups[group].spec
    holders = [pod for pod in reading.pods_of[group] if pod.key in moment.holders][: spec.min_member]
    wanted, gang = request(pods), total(pod.request for pod in holders)
    if not moment.is_ready(group):
        gang.update(wanted)
    return {one for one in wanted if max(gang[one], wanted[one]) > reading.deserved(spec.queue, one)}
