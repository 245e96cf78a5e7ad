"""Fair shares: one answer for a tree of queues, beside a plain loop that does the same on floats."""

import random
from collections.abc import Iterator
from functools import partial
from math import log2

from measure import line, median_ms

from maar.core.fairshare import QueueDemand, QueueTree
from maar.core.fairshare.share_out import DemandColumns, share_columns

LARGE = 10**9
SOFT_GUARANTEES = {
    "half with soft guarantees that mostly fit": (LARGE // 20, 1000),
    "half with soft guarantees that do not": (LARGE, 1000),
    "the same, of odd amounts": (LARGE, 1),
}


def main() -> None:
    """Print how fast shares are worked out."""
    for queues, target_ms in ((1_000, 10.0), (10_000, 120.0)):
        tree, total = random_tree(queues, levels=5, resources=20)
        claims = DemandColumns.of(tree, total)
        reference = median_ms(partial(loop, tree, total), times=3)
        figure = median_ms(partial(share_columns, tree, claims))
        line(
            f"{queues:,} queues, 5 levels, 20 resources", figure, reference, f"target below {target_ms:g} ms"
        )
        for words, soft in SOFT_GUARANTEES.items():
            tree, total = random_tree(queues, levels=5, resources=20, soft=soft)
            claims = DemandColumns.of(tree, total)
            line(f"  {words}", median_ms(partial(share_columns, tree, claims)), figure, "beside none")
    per_step = {}
    for siblings in (1_000, 10_000, 100_000):
        tree, total = random_tree(siblings, levels=1, resources=1)
        claims = DemandColumns.of(tree, total)
        reference = median_ms(partial(loop, tree, total), times=3)
        figure = median_ms(partial(share_columns, tree, claims))
        per_step[siblings] = figure / (siblings * log2(siblings))
        growth = per_step[siblings] / per_step[1_000]
        line(f"{siblings:,} siblings", figure, reference, f"{growth:.2f}x n log n; target at most 1.3x")


def random_tree(
    queues: int, levels: int, resources: int, soft: tuple[int, int] | None = None
) -> tuple[QueueTree, dict[str, int]]:
    """Make a tree with every level full but the last; half of the queues are guaranteed, half are capped.

    With soft guarantees half of them have some: up to so many units, in steps of so many.
    """
    rng, other_rng = random.Random(queues), random.Random(f"{queues} soft")
    names = [f"resource-{index}" for index in range(resources)]
    some = (0, resources)  # all resources, or none
    width = max(2, round(queues ** (1 / levels)))
    sizes = [width ** (level + 1) for level in range(levels - 1)]
    sizes.append(queues - sum(sizes))

    def amounts(soft: tuple[int, int] | None) -> dict[str, int]:
        if soft is None or other_rng.choice((True, False)):
            return {}
        most, step = soft
        return {one: other_rng.randrange(0, most, step) for one in names}

    def claims() -> Iterator[QueueDemand]:
        above = ["root"]
        for level, size in enumerate(sizes):
            here = [f"queue-{level}-{index}" for index in range(size)]
            for index, name in enumerate(here):
                yield QueueDemand(
                    name=name,
                    parent=above[index % len(above)],
                    weight=rng.randint(1, 100),
                    guarantee={one: rng.randint(0, LARGE // 100) for one in names[rng.choice(some) :]},
                    soft_guarantee=amounts(soft),
                    capability={one: rng.randint(LARGE // 10, LARGE) for one in names[rng.choice(some) :]},
                    request={one: rng.randint(0, LARGE) for one in names},
                    created=float(index),
                )
            above = here

    return QueueTree.of(claims()), dict.fromkeys(names, queues * LARGE // 5)


def loop(tree: QueueTree, total: dict[str, int]) -> dict[str, dict[str, float]]:
    """The reference: queue by queue and resource by resource, a bisection for every level, on floats."""
    wanted: dict[str, dict[str, tuple[float, float]]] = {}
    for name in reversed(tree.names):
        claim, children = tree.claims[tree.row[name]], tree.children(name)
        wanted[name] = {}
        for resource in total:
            floor = float(claim.guarantee.get(resource, 0))
            ask = float(claim.request.get(resource, 0))
            if children:
                floor = max(floor, sum(wanted[child][resource][0] for child in children))
                ask = sum(wanted[child][resource][1] for child in children)
            cap = float(claim.capability.get(resource, 2**62))
            wanted[name][resource] = floor, max(floor, min(ask, cap))
    answer = {tree.names[0]: {resource: float(amount) for resource, amount in total.items()}}
    for name in tree.names:
        children = tree.children(name)
        weights = [tree.claims[tree.row[child]].weight for child in children]
        for resource in total if children else ():
            bounds = [wanted[child][resource] for child in children]
            gets = _bisect(answer[name][resource], weights, bounds)
            for child, amount in zip(children, gets, strict=True):
                answer.setdefault(child, {})[resource] = amount
    return answer


def _bisect(budget: float, weights: list[int], bounds: list[tuple[float, float]]) -> list[float]:
    low, high = 0.0, float(LARGE)
    for _ in range(30):
        level = (low + high) / 2
        gets = [
            min(max(level * weight, floor), top) for weight, (floor, top) in zip(weights, bounds, strict=True)
        ]
        low, high = (level, high) if sum(gets) < budget else (low, level)
    return gets


if __name__ == "__main__":
    main()
