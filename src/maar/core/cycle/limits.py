"""What a queue may use while turns are taken, and which groups can have a turn, by amounts alone.

In a full cluster nearly all turns fail, and thousands of groups wait. In one phase room is only
taken and queues only use more. So where the limits of its queues, or the nodes together, have too
little for the pods of a group now, its turn fails whenever it comes. Such a group needs no turn,
but while it waits it counts for the age of its namespace (`turn_order.py`).

Only groups of classes are judged (`classes.py`): nothing but room decides where their pods go. A
group of a queue that is first in, first out stops others when its turn fails, and has one.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from maar.core.cycle.group_class import Block
from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.placing.turn_pods import for_backfill
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Phase
from maar.core.fairshare.share_out import UNLIMITED
from maar.core.tables.axis import Needs
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import Column, PodRow
from maar.core.tables.shapes import Shape


class Limits:
    """The limits of a phase: what queues deserve, or what they can borrow; without a phase there are none."""

    def __init__(self, state: State, phase: Phase | None) -> None:
        self.state, self.ledger, self.phase = state, state.ledger, phase
        self._asks_deserved = (
            phase == "fair" and ("proportion", "enabledAllocatable") in state.configuration.enabled
        )
        self._pairs: dict[
            UsagePath, list[tuple[Column, Column]]
        ] = {}  # what is used, and the most that may be

    def charge(self, group: GroupState, needs: Needs) -> bool:
        """Let a group use this much more if nothing keeps its queue, or one above, from it."""
        ledger = self.ledger
        if ledger.reservable and self.phase is not None and ledger.takes_reserved(group.leaf, needs):
            return False
        is_over, pairs = False, self._pairs.get(group.usage_path) or self._pair(group.usage_path)
        for used, most in pairs:
            for resource, amount in needs:
                used[resource] = now = used[resource] + amount
                if now > most[resource]:
                    is_over = True
        if is_over:
            for used, _ in pairs:
                for resource, amount in needs:
                    used[resource] -= amount
        else:  # as State.charge does; single pods are charged by the thousand
            self.state.steps.append(("charge", group, needs, group.more))
            group.use(needs)
            if ledger.reservable:
                ledger.reserve(group.leaf, needs)
        return not is_over

    def allow(self, leaf: int, needs: Needs) -> bool:
        """Whether a leaf may use this much more.

        A queue and all above it stay within their limits, and nothing reserved is given away.
        """
        ledger = self.ledger
        if self.phase is None:
            return True
        if self._asks_deserved and ledger.beyond(leaf, needs, ledger.deserved) is not None:
            return False
        return ledger.beyond(leaf, needs, ledger.real) is None and ledger.gives_away(leaf, needs) is None

    def leave_room(self, leaf: int, needs: Needs) -> bool:
        """Whether surplus may use this much more beside what groups just let in have yet to take."""
        beside = self.state.just_let_in
        if beside is None or self.phase is None:
            return True
        return beside.leaves_room(
            leaf, needs, self.ledger.deserved if self._asks_deserved else self.ledger.real
        )

    def left(self, usage_path: UsagePath) -> Column:
        """How much more may be used there at most; what is reserved for others may leave less."""
        ledger = self.ledger
        left = [UNLIMITED] * len(ledger.total)
        if self.phase is None:
            return left
        for queue in ledger.paths[usage_path.leaf]:
            amounts = [most - used for most, used in zip(self._most(queue), ledger.used[queue], strict=True)]
            left = list(map(min, left, amounts))
        for resource, (most, used) in enumerate(zip(ledger.most[0], ledger.used[0], strict=True)):
            if resource not in ledger.reservable:
                left[resource] = min(left[resource], most - used)
        return left

    def _pair(self, usage_path: UsagePath) -> list[tuple[Column, Column]]:
        """Set what is used beside the most that may be: in the namespace, in its queue and all above."""
        ledger = self.ledger
        unlimited = [UNLIMITED] * len(ledger.total)
        limits = [unlimited] * len(usage_path.columns)
        if self.phase is not None:
            limits = [
                unlimited,
                *(self._most(queue) for queue in ledger.paths[usage_path.leaf]),
                [
                    UNLIMITED if resource in ledger.reservable else most
                    for resource, most in enumerate(ledger.most[0])
                ],
            ]
        pairs = self._pairs[usage_path] = list(zip(usage_path.columns, limits, strict=True))
        return pairs

    def _most(self, queue: int) -> Column:
        real = self.ledger.real[queue]
        if not self._asks_deserved:
            return real
        return [min(pair) for pair in zip(self.ledger.deserved[queue], real, strict=True)]


Wanted = Callable[[GroupState], list[PodRow]]


class PossibleTurns:
    """What turns of one phase could use."""

    def __init__(self, state: State, limits: Limits, wanted: Wanted, *, is_gang: bool) -> None:
        """With the pods of a group that the phase places."""
        self.state, self.limits, self.wanted, self.is_gang = state, limits, wanted, is_gang
        self._left: dict[UsagePath, Column] = {}  # of the limits of queues
        self._room: dict[Shape, int] = {}  # for how many pods the nodes have some

    def divide(self) -> tuple[list[GroupState], list[GroupState]]:
        """Groups whose turn may succeed; and where the age of a namespace can matter, those whose cannot."""
        states, wait = self.state.groups, list[GroupState]()
        unread = {block: self._may_have_turns(block) for block in states.unread()}
        for block in [block for block, may_have_turns in unread.items() if may_have_turns]:
            states.of_block(block)
        wait = [group for group in states.read_waiting() if self._wants(group)]
        if self.state.held_room.holds:
            return wait, []  # held room may be given back
        possible, turnless = list[GroupState](), list[GroupState]()
        for group in wait:
            if not self._may_succeed(group):
                turnless.append(group)
            else:
                possible.append(group)
        leaves = Counter(leaf for leaf, _ in {(group.leaf, group.row.namespace) for group in possible})
        for block, may_have_turns in unread.items():
            if leaves[block.key.leaf.index] > 1 and not may_have_turns:
                turnless += filter(self._wants, states.of_block(block))
        return possible, turnless

    def _wants(self, group: GroupState) -> bool:
        return bool(group.pending) and group.phase in ADMITTED_PHASES and bool(self.wanted(group))

    def _may_have_turns(self, block: Block) -> bool:
        """Whether a turn of a class of a block may succeed."""
        key, summary, leaf = block.key, block.summary, block.key.leaf.index
        if key.phase not in ADMITTED_PHASES:
            return False
        if self.wanted is for_backfill and not summary.any_asks_for_nothing:
            return False
        is_judged = summary.is_known and self.is_gang and leaf not in self.state.groups.fifo
        if not is_judged or self.state.held_room.holds:
            return True
        left = self._left_of(self.state.groups.usage_path(leaf, key.namespace))
        if any(amount > left[resource] for resource, amount in summary.least):
            return False
        return any(one.turn and self._has_room_for(one.turn) for one in block.classes)

    def _has_room_for(self, turn: Mapping[Shape, int]) -> bool:
        for shape, count in turn.items():
            room = self._room.get(shape)
            if room is None:
                room = self._room[shape] = self.state.places.capacity(shape)
            if room < count:
                return False
        return True

    def _may_succeed(self, group: GroupState) -> bool:
        kind = group.of_class
        if kind is None or kind.turn is None or group.placed or group.leaf in self.state.groups.fifo:
            return True
        needs, turn = kind.needs, kind.turn
        if not self.is_gang:
            if kind.shape is None:
                return True
            needs, turn = kind.shape.needs, Counter({kind.shape: 1})
        if not turn:
            return False
        left = self._left_of(group.usage_path)
        for resource, amount in needs:
            if amount > left[resource]:
                return False
        return all(self.state.places.capacity(shape) >= count for shape, count in turn.items())

    def _left_of(self, usage_path: UsagePath) -> Column:
        left = self._left.get(usage_path)
        if left is None:
            left = self._left[usage_path] = self.limits.left(usage_path)
        return left
