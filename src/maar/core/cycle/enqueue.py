"""Enqueue: lets pod groups in, in fair order, when there is room for what they need to start."""

from fractions import Fraction

from maar.core.cycle.books import Short
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.order import Turns
from maar.core.cycle.refusals import at_real_capability
from maar.core.cycle.state import State
from maar.core.model.reasons import Held, Reason
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add
from maar.core.tables.groups import admitted_with
from maar.core.tables.rows import Column


def admit_all(state: State) -> None:
    """Where enqueue is not configured, every group counts as admitted; operators wait for the phase."""
    for row in state.tables.outside.values():
        if row.leaf is not None:
            state.group(row).phase = "Inqueue"


def enqueue(state: State) -> None:
    """Move groups from Pending to Inqueue while there is room."""
    if not state.tables.outside:
        return
    door = Door(state)
    turns = Turns(state, "fair", door.outside())
    while group := turns.next():
        held = door.refuses(group)
        if held is None:
            group.phase = "Inqueue"
            group.held = None
            door.let_in(group)
            turns.done(group)
            continue
        group.held = held
        turns.done(group)
        if state.books.rows[group.leaf].queue.spec.dequeue_strategy == "fifo":
            for behind in turns.stop(group.leaf):
                behind.held = Held(
                    reason=Reason.BEHIND_FIRST_IN_QUEUE, queue=behind.row.queue_name, others=(group.row.key,)
                )


class Door:
    """What has been let in, and whether more may come."""

    def __init__(self, state: State) -> None:
        self.state, books = state, state.books
        self.admitted: list[Column] = [[0] * len(books.total) for _ in books.rows]
        for row in books.rows:
            if row.is_leaf:
                for queue in (*books.paths[row.index], 0):
                    add(self.admitted[queue], tuple(row.admitted), 1)
        factor: Fraction = state.configuration.overcommit_factor
        self._cluster = [int(amount * factor) for amount in books.total]
        self._asks_overcommit = state.configuration.asks("overcommit", "enableJobEnqueued")
        self._asks_proportion = state.configuration.asks("proportion", "enableJobEnqueued")

    def outside(self) -> list[GroupState]:
        """The groups that wait to be let in."""
        rows = self.state.tables.outside.values()
        return [self.state.group(row) for row in rows if row.leaf is not None]

    def let_in(self, group: GroupState) -> None:
        """Count a group as admitted."""
        amounts = admitted_with(group.row, self.state.tables.axis)
        for queue in (*self.state.books.paths[group.leaf], 0):
            add(self.admitted[queue], amounts, 1)

    def refuses(self, group: GroupState) -> Held | None:
        """What keeps a group out: neither ceilings nor deserved nor its guarantee leave room for it."""
        wanted = group.row.min_resources
        if wanted is None:
            return None
        short = self._above_ceilings(group.leaf, wanted)
        if short is None or self._beyond(group.leaf, wanted, self.state.books.deserved) is None:
            return None
        books = self.state.books
        spec = books.rows[group.leaf].queue.spec.guarantee
        names = self.state.tables.axis.names
        named = tuple(
            need for need in wanted if names[need[0]] in spec.resource or names[need[0]] in spec.percentage
        )
        others = tuple(need for need in wanted if need not in named)
        admitted, guarantee = self.admitted[group.leaf], books.guarantee[group.leaf]
        if named and all(admitted[resource] + amount <= guarantee[resource] for resource, amount in named):
            short = self._above_ceilings(group.leaf, others)
            if short is None:
                return None
        return self._held(short)

    def _above_ceilings(self, leaf: int, wanted: Needs) -> Short | None:
        """Real capability on the path, and the overcommitted total for the cluster."""
        books = self.state.books
        short = self._beyond(leaf, wanted, books.real) if self._asks_proportion else None
        if short is None and self._asks_overcommit:
            for resource, amount in wanted:
                if self.admitted[0][resource] + amount > self._cluster[resource]:
                    return Short(
                        0, resource, amount, max(0, self._cluster[resource] - self.admitted[0][resource])
                    )
        return short

    def _beyond(self, leaf: int, wanted: Needs, limits: list[Column]) -> Short | None:
        for queue in self.state.books.paths[leaf]:
            for resource, amount in wanted:
                left = limits[queue][resource] - self.admitted[queue][resource]
                if amount > left:
                    return Short(queue, resource, amount, max(0, left))
        return None

    def _held(self, short: Short) -> Held:
        if short.queue:
            return at_real_capability(self.state, short)
        return Held(
            reason=Reason.CLUSTER_OVERCOMMITTED,
            resource=self.state.tables.axis.names[short.resource],
            wanted=short.wanted,
            available=short.available,
        )
