"""Past use for people: what it makes of weights, from the statuses of queues, and the sentence about it."""

from collections.abc import Collection, Iterable, Mapping

from maar.core.model.past_use import Usage, history_time, read_history
from maar.core.model.plan import PastUseStanding
from maar.core.model.queue import ROOT, Queue
from maar.core.policy.configuration import Configuration, Plugin
from maar.core.policy.grammar import HALF_LIFE, STRENGTH
from maar.core.tables.past_use import parts_of_siblings, standing_of

Json = dict[str, object]


def usage_in_force(queues: Collection[Queue]) -> Usage | None:
    """The settings that a running scheduler counts past use by; None where it changes no weight.

    Histories stay in statuses when the plugin is switched off; the factors do not.
    """
    if not any(queue.status.weight_factor for queue in queues):
        return None
    newest = max(queues, key=lambda queue: history_time(queue.status.history))
    history = read_history(newest.status.history)
    return Usage() if history is None else history.usage


def with_usage(configuration: Configuration, usage: Usage | None) -> Configuration:
    """A configuration that counts past use by these settings."""
    if usage is None:
        return configuration
    arguments = {HALF_LIFE: usage.half_life_s, STRENGTH: usage.strength}
    plugin = Plugin("usage", max((one.tier for one in configuration.plugins), default=1), {}, arguments)
    plugins = (*configuration.plugins, plugin)
    return Configuration(configuration.actions, plugins, configuration.grace_seconds, configuration.warnings)


def past_use_of(queues: Iterable[Queue]) -> dict[str, PastUseStanding]:
    """What past use makes of the weights of queues, by their statuses."""
    listed = list(queues)
    usage = usage_in_force(listed)
    if usage is None:
        return {}
    found: dict[str, PastUseStanding] = {}
    for siblings in _siblings(listed).values():
        histories = {queue.key: read_history(queue.status.history) for queue in siblings}
        known = {name: history for name, history in histories.items() if history is not None}
        weights = {queue.key: max(1, queue.spec.weight) for queue in siblings}
        for name, part in parts_of_siblings(known, weights, usage).items():
            found[name] = standing_of(part, usage)
    return found


def _siblings(queues: Iterable[Queue]) -> Mapping[str, list[Queue]]:
    siblings: dict[str, list[Queue]] = {}
    for queue in queues:
        if queue.key != ROOT:
            siblings.setdefault(queue.parent, []).append(queue)
    return siblings


def weight_text(weight: int, past_use: PastUseStanding | None) -> str:
    """A weight, with what past use makes of it: 2 x 0.84."""
    return f"{weight} x {past_use.text}" if past_use is not None and past_use.text else str(weight)


def past_use_sentence(weight: int, one: PastUseStanding, siblings: str = "its siblings") -> str:
    """Where a factor comes from, in numbers."""
    what = f"the {one.resource} that" if one.resource else "what"
    factor = weight_text(weight, one) if one.text else f"{weight} x 1"
    return (
        f"weight {factor}: it used {one.used:.0%} of {what} it and {siblings} used while others waited, "
        f"its weight entitles it to {one.entitled:.0%}; half-life {one.half_life}"
    ).replace("%", " %")


def past_use_data(one: PastUseStanding | None) -> Json:
    """The same as plain data; nothing where there is no past use."""
    if one is None:
        return {}
    numbers = {"factor": one.factor, "used": round(one.used, 4), "entitled": round(one.entitled, 4)}
    return {"pastUse": {**numbers, "resource": one.resource, "halfLife": one.half_life}}
