"""Requests for which no victims were enough: one that asks for at least as much fails too.

The problem. In a full cluster thousands of groups wait, of many sizes, and each would search the
same units in vain. A search takes units in an order, and refuses some, by the beneficiary's place
alone: its leaf, namespace and priority, what its job uses, how long it has waited
(`Attempt.failure_key`). What it asks for only decides when it is enough.

How it works. Where a search has taken all that may be taken, anywhere and on every node alone, and
its pods still had no room, its request is kept. A request fails without a search if, of the same
key, a request was kept that asks for no more: pods of one shape, of which the other has as many
that need at least as much and are kept off the same nodes. For if the larger request found room,
those pods would have it, and so would the smaller ones; and a limit that lets a queue use more lets
it use less. A search that had no unit to take at all keeps an empty request.

Invariants. Requests are kept only while nothing changes what units there are or what nodes have
room: they are forgotten when an attempt succeeds. Only groups that use nothing, and whose pods are
placed by their shapes alone, are kept or compared. A search that found enough and whose set was not
lawful is not kept.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape

Request = tuple[Shape, int]  # so many pods of a shape


@dataclass(eq=False)
class Failures:
    """What searches failed for since something changed."""

    _requests: dict[Hashable, list[Request]] = field(
        default_factory=dict
    )  # by key; none asks for more than another
    _without_units: set[Hashable] = field(default_factory=set)  # keys of which no unit may be taken

    def clear(self) -> None:
        """Forget all: units or room have changed."""
        self._requests.clear()
        self._without_units.clear()

    def add(self, key: Hashable, pods: Sequence[PodRow], *, had_units: bool) -> None:
        """Keep a request for which all that may be taken was not enough."""
        shape = pods[0].shape
        if not had_units:
            self._without_units.add(key)
        elif all(pod.shape is shape for pod in pods):
            mine, known = Counter({shape: len(pods)}), self._requests.setdefault(key, [])
            if not any(_is_within(one, mine) for one in known):
                others = [one for one in known if not _is_within((shape, len(pods)), Counter(dict([one])))]
                self._requests[key] = [*others, (shape, len(pods))]

    def includes_all(self, key: Hashable) -> bool:
        """Whether every request of a key fails."""
        return key in self._without_units

    def include(self, key: Hashable, request: Mapping[Shape, int]) -> bool:
        """Whether a request of pods by shape fails, because one that asks for no more has failed."""
        if key in self._without_units:
            return True
        return any(_is_within(one, request) for one in self._requests.get(key, ()))


def _is_within(request: Request, other: Mapping[Shape, int]) -> bool:
    """Whether a request asks for no more than another."""
    shape, count = request
    return sum(number for one, number in other.items() if _needs_no_more(shape, one)) >= count


def _needs_no_more(shape: Shape, other: Shape) -> bool:
    """Whether pods of a shape have room wherever pods of another have."""
    if shape is other:
        return True
    theirs = dict(other.needs)
    return (
        all(amount <= theirs.get(resource, 0) for resource, amount in shape.needs)
        and shape.node_selector == other.node_selector
        and shape.affinity == other.affinity
        and shape.tolerations == other.tolerations
    )
