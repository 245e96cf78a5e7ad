"""Both kernels on trees that chance does not draw: next to nothing, and as much as there can be."""

from typing import Final

import pytest

from maar.core.fairshare.queue_demand import HUNDRED_PERCENT, LARGEST_AMOUNT, LARGEST_WEIGHT, QueueDemand
from maar.core.model.queue import ROOT
from properties.trees import Tree
from properties.trials import by_definition, by_kernel

BEYOND: Final = 2**64  # counts as the largest amount


def tree(total: int, *claims: QueueDemand) -> Tree:
    """Return a tree that shares one resource."""
    return Tree(claims, {"x": total})


EDGES: Final = {
    "nobody shares nothing": Tree((), {}),
    "nobody shares something": tree(5),
    "somebody shares nothing": Tree((QueueDemand(name="a"),), {}),
    "a resource that is nowhere": Tree((QueueDemand(name="a", request={"x": 3}, guarantee={"x": 1}),), {}),
    "a root with claims of its own": tree(
        5,
        QueueDemand(name=ROOT, guarantee={"x": 7}, capability={"x": 6}),
        QueueDemand(name="a", request={"x": 4}),
    ),
    "a root with claims of its own and no children": tree(
        5, QueueDemand(name=ROOT, guarantee={"x": 7}, capability={"x": 3}, request={"x": 9})
    ),
    "a capability of nothing": tree(
        5,
        QueueDemand(name="a", capability={"x": 0}, request={"x": 3}),
        QueueDemand(name="b", request={"x": 9}),
    ),
    "a guarantee above the capability": tree(
        5,
        QueueDemand(name="a", guarantee={"x": 3}, capability={"x": 2}),
        QueueDemand(name="b", request={"x": 9}),
    ),
    "one unit for the lightest and the heaviest": tree(
        1,
        QueueDemand(name="a", request={"x": 1}),
        QueueDemand(name="b", weight=LARGEST_WEIGHT, request={"x": 1}),
    ),
    "everything reserved for one that asks for nothing": tree(
        LARGEST_AMOUNT,
        QueueDemand(name="a", guarantee={"x": BEYOND}),
        QueueDemand(name="b", request={"x": BEYOND}),
    ),
    "everything for one that asks for it": tree(BEYOND, QueueDemand(name="a", request={"x": BEYOND})),
    "the largest amount reserved, and nobody else": tree(
        BEYOND, QueueDemand(name="a", guarantee={"x": BEYOND})
    ),
    "more than all of a little": tree(7, QueueDemand(name="a", percentage={"x": 3 * HUNDRED_PERCENT})),
    "more than all of the largest amount": tree(
        BEYOND, QueueDemand(name="a", percentage={"x": 3 * HUNDRED_PERCENT}, request={"x": 1})
    ),
    "soft guarantees of the largest amount and of one unit": tree(
        BEYOND,
        QueueDemand(name="a", soft_guarantee={"x": BEYOND}, request={"x": BEYOND}),
        QueueDemand(name="b", soft_guarantee={"x": BEYOND - 1}, request={"x": BEYOND}, guarantee={"x": 5}),
        QueueDemand(name="c", soft_guarantee={"x": 1}, request={"x": BEYOND}),
    ),
    "a soft guarantee of nothing": tree(
        7,
        QueueDemand(name="a", soft_guarantee={"x": 0}, request={"x": 9}),
        QueueDemand(name="b", soft_guarantee={"x": 9}, request={"x": 9}),
    ),
    "soft guarantees and nothing to share": tree(
        0, QueueDemand(name="a", soft_guarantee={"x": 3}, request={"x": 9}), QueueDemand(name="b")
    ),
    "soft guarantees that floats do not tell apart": tree(
        2**60,
        *(
            QueueDemand(
                name=f"a{i}",
                guarantee={"x": 2**52 + i},
                soft_guarantee={"x": 2**59 + 3 * i},
                request={"x": 2**59 + i},
            )
            for i in range(9)
        ),
    ),
    "a soft guarantee of the root": tree(
        5, QueueDemand(name=ROOT, soft_guarantee={"x": 3}), QueueDemand(name="a", request={"x": 9})
    ),
    "the largest amounts at every level": tree(
        BEYOND,
        *(QueueDemand(name=f"a{i}", guarantee={"x": BEYOND}, weight=LARGEST_WEIGHT) for i in range(3)),
        *(
            QueueDemand(name=f"b{i}", parent="a1", guarantee={"x": BEYOND}, request={"x": 1})
            for i in range(5)
        ),
        *(QueueDemand(name=f"c{i}", parent="b2", request={"x": BEYOND}, weight=1 + i) for i in range(5)),
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_fast_and_slow_agree_at_the_edge(edge: str) -> None:
    assert by_kernel(EDGES[edge]) == by_definition(EDGES[edge])
