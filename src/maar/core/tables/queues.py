"""The queue tree of the tables: which queues take part, which are leaves, and why the others do not."""

from dataclasses import dataclass
from fractions import Fraction

from maar.core.fairshare import BadQueueDemandError, QueueDemand, QueueTree
from maar.core.fairshare.share_out import DemandColumns
from maar.core.model.durations import LONGEST, exact_seconds
from maar.core.model.queue import ROOT, Queue, QueueSpec
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.rows import NO_MIN_RUNTIMES, Column, MinRuntime, QueueRow


@dataclass(frozen=True)
class NewTree:
    """A tree of all queues that can take part."""

    tree: QueueTree
    rows: list[QueueRow]  # [Q] in the tree's order
    paths: list[tuple[int, ...]]  # [Q] from a queue up to below the root
    set_aside: dict[str, str]
    has_new_leaves: bool


def share_fields(queue: Queue) -> tuple[object, ...]:
    """The fields of a queue that the tree depends on."""
    return (queue.spec, queue.metadata.creation_timestamp)


def demand_of(tree: QueueTree, axis: ResourceAxis, total: Column) -> DemandColumns:
    """What the queues claim of a total, whatever their groups ask for."""
    return DemandColumns.of(tree, dict(zip(axis.names, total, strict=True)), order=axis.names)


def build_tree(queues: dict[str, QueueRow], axis: ResourceAxis) -> NewTree:
    """Build the tree; a queue whose claim is bad is set aside, and so are all queues below it."""
    claims, bad = [], {}
    for name, row in queues.items():
        try:
            claims.append(_claim(row))
        except BadQueueDemandError as error:
            bad[name] = str(error)
    for claim in claims:
        axis.learn({**claim.guarantee, **claim.percentage, **claim.capability, **claim.request})
        axis.learn(claim.soft_guarantee)
    tree = QueueTree.of(claims)
    before = {name for name, row in queues.items() if row.is_leaf}
    for row in queues.values():
        row.index, row.is_leaf = -1, False
    rows = [queues[name] for name in tree.names]
    for index, row in enumerate(rows):
        row.index, row.is_leaf = index, bool(tree.is_leaf[index])
    after = {row.name for row in rows if row.is_leaf}
    paths: list[tuple[int, ...]] = [()]
    for queue, parent in enumerate(tree.parent.tolist()[1:], start=1):
        paths.append((queue, *paths[parent]))
    for row, parent in zip(rows, tree.parent.tolist(), strict=True):  # parents come first
        row.min_runtimes = _min_runtimes(row, rows[parent].min_runtimes if row.index else NO_MIN_RUNTIMES)
    return NewTree(tree, rows, paths, {**bad, **tree.set_aside}, before != after)


def _min_runtimes(row: QueueRow, above: dict[str, MinRuntime]) -> dict[str, MinRuntime]:
    """The minimum run times of a queue by action; what it does not set, or cannot be read, is as above."""
    own = {
        action: MinRuntime(seconds, row.name)
        for action, text in written_min_runtimes(row.queue.spec).items()
        if (seconds := _seconds(text)) is not None
    }
    return {**above, **own} if own else above


def written_min_runtimes(spec: QueueSpec) -> dict[str, str]:
    """What a queue says of the minimum run times itself, by action."""
    return {"preempt": spec.preempt_min_runtime, "reclaim": spec.reclaim_min_runtime}


def _seconds(text: str) -> float | None:
    """A length of time; admission refuses what is none, and where it was not asked it counts as not set."""
    exact = Fraction() if text == "0" else exact_seconds(text)
    return None if exact is None else float(min(exact, Fraction(LONGEST)))


def _claim(row: QueueRow) -> QueueDemand:
    """What a queue claims, all but what its groups ask for, which changes from cycle to cycle."""
    spec, created = row.queue.spec, row.queue.metadata.creation_timestamp
    return QueueDemand(
        name=row.name,
        parent=row.queue.parent if row.name != ROOT else ROOT,
        weight=spec.weight,
        guarantee=spec.guarantee.resource,
        percentage=spec.guarantee.percentage,
        soft_guarantee=spec.deserved,
        capability=spec.capability,
        request=spec.request or {},
        created=created.timestamp() if created else 0.0,
    )
