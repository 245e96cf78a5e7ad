"""What a queue may use while turns are taken."""

from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.state import State
from maar.core.cycle.turn_order import Phase
from maar.core.fairshare.share_out import UNLIMITED
from maar.core.tables.axis import Needs
from maar.core.tables.rows import Column


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
