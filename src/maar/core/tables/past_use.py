"""The past use of queues and namespaces, as it was last published, and the factors that follow from it.

Decisions read it here. It changes in two ways: a queue object with a newer history appears, as
after a start or while another scheduler leads, or the engine adds what was used since
(`core/tables/use_meter.py`), once a minute. Siblings lose past use at the same rate, so that their
parts of it do not depend on the time of a decision: factors change when a history or a weight does,
and at no other time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from maar.core.fairshare.tree import QueueTree
from maar.core.fairshare.weight_factors import (
    ONE,
    PartOfUse,
    ScaledWeights,
    scaled_weights,
    weight_factors,
)
from maar.core.model.past_use import (
    History,
    Hours,
    Usage,
    half_life_text,
    history_data,
    history_time,
    large,
    read_history,
    totals_of,
)
from maar.core.model.plan import PastUseStanding
from maar.core.model.queue import Queue
from maar.core.tables.rows import QueueRow


@dataclass(frozen=True, eq=False)
class WeightFactors:
    """What past use makes of the weights of a tree, and how it is written."""

    usage: Usage
    parts: Mapping[str, PartOfUse]  # by queue; none where its siblings have no past use
    scaled: ScaledWeights | None  # None: no weight has a factor other than 1
    written: Mapping[str, dict[str, object]]  # by queue: its history, as its status should have it

    def factor(self, queue: str) -> float:
        """What a weight is multiplied by."""
        return self.parts[queue].factor / ONE if queue in self.parts else 1.0


@dataclass(eq=False)
class PastUse:
    """Histories by queue, and the factors of the last decision."""

    histories: dict[str, History] = field(default_factory=dict)
    factors: WeightFactors | None = None  # None: the plugin is not configured
    _changes: int = 0
    _made_from: tuple[QueueTree, int, Usage] | None = None

    def learn(self, queue: Queue) -> None:
        """Take over the history of a queue object if it is newer than what is known."""
        data = queue.status.history
        known = self.histories.get(queue.key)
        if data is None or (known is not None and history_time(data) <= known.time):
            return
        history = read_history(data)
        if history is not None:
            self.publish(queue.key, history)

    def publish(self, queue: str, history: History) -> None:
        """Let decisions read another history of a queue from here on."""
        self.histories[queue] = history
        self._changes += 1

    def forget(self, queue: str) -> None:
        """Remove what is known of a queue that is gone."""
        self._changes += self.histories.pop(queue, None) is not None

    def settle(self, tree: QueueTree, usage: Usage | None) -> None:
        """Work out the factors of the queues; most decisions find those of the one before."""
        if usage is None:
            self.factors = self._made_from = None
            return
        made_from = (tree, self._changes, usage)
        if self._made_from is None or self._made_from != made_from:
            self.factors, self._made_from = self._weigh(tree, usage), made_from

    def _weigh(self, tree: QueueTree, usage: Usage) -> WeightFactors:
        parts: dict[str, PartOfUse] = {}
        written: dict[str, dict[str, object]] = {}
        for weights in tree.weights().values():
            known = {name: self.histories[name] for name in weights if name in self.histories}
            parts |= parts_of_siblings(known, weights, usage)
            hours = _at_one_time(known, usage)
            totals = totals_of(hours.values())
            for name, history in known.items():
                if data := _written(history, hours[name], totals, usage):
                    written[name] = data
        steps = [parts[name].factor if name in parts else ONE for name in tree.names]
        return WeightFactors(usage, parts, scaled_weights(tree, steps), written)

    def inside(self, leaf: QueueRow, weights: Mapping[str, int]) -> dict[str, PartOfUse]:
        """The parts and factors of the namespaces of a leaf: those with work there, or with past use."""
        history = self.histories.get(leaf.name)
        if self.factors is None or history is None or not history.namespaces:
            return {}
        names = sorted({*present(leaf), *history.namespaces})
        strength = float(self.factors.usage.strength)
        return weight_factors(history.namespaces, {name: weights.get(name, 1) for name in names}, strength)


def parts_of_siblings(
    known: Mapping[str, History], weights: Mapping[str, int], usage: Usage
) -> dict[str, PartOfUse]:
    """The parts and factors of siblings; none where they have no past use."""
    return weight_factors(_at_one_time(known, usage), weights, float(usage.strength))


def standing_of(part: PartOfUse, usage: Usage) -> PastUseStanding:
    """A part and its factor as plans and views show it."""
    return PastUseStanding(
        factor=part.factor / ONE,
        used=part.used,
        entitled=part.entitled,
        resource=part.resource,
        half_life=half_life_text(usage),
    )


def present(leaf: QueueRow) -> Iterator[str]:
    """The namespaces that have groups in a leaf, or use something there."""
    yield from (name for name, groups in leaf.members.items() if groups)
    yield from (name for name, column in leaf.namespaces.items() if any(column))


def _at_one_time(known: Mapping[str, History], usage: Usage) -> dict[str, Hours]:
    """What siblings used, as much as is left of it when the last of them was published."""
    last = max((history.time for history in known.values()), default=0.0)
    return {name: history.at(last, usage).used for name, history in known.items()}


def _written(history: History, hours: Hours, totals: Hours, usage: Usage) -> dict[str, object]:
    """A history without entries that are less than a thousandth of what the siblings have together."""
    kept = {name: history.used[name] for name in large(hours, totals)}
    inside = totals_of(history.namespaces.values())
    namespaces = {name: large(used, inside) for name, used in history.namespaces.items()}
    shown = {name: used for name, used in namespaces.items() if used}
    return history_data(History(history.time, usage, kept, shown)) if kept or shown else {}
