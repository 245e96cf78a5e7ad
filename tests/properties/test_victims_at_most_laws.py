"""A search for victims that ends early, since all it could still take is too little, would have failed.

Where it ends early it is run to its end as well: it takes nothing but what was expected, and finds
nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from maar.core.cycle.evicting import attempt as attempt_module
from maar.core.cycle.evicting.attempt import Attempt
from maar.core.cycle.evicting.units import Unit
from maar.core.cycle.reclaim import Reclaim
from properties.cluster_growth import NAMESPACES
from properties.cluster_manifests import GroupPlan, node, pod_group, pods_of, queue
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import planned
from properties.clusters import Cluster, grow, recipes
from properties.how_many import cases

CLUSTERS = cases(200)
ENOUGH = CLUSTERS // 5  # searches that ended early, in clusters that are made for it
QUEUES = {"physics": "", "lasers": "physics", "optics": "physics", "biology": "", "genes": "biology"}
LEAVES = ("lasers", "optics", "genes")


@pytest.mark.parametrize("few", [1, 3])
def test_in_clusters_full_of_small_gangs(
    few: int, seed: int, searches: "Searches", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_module, "FEW", few)

    @seeded(seed)
    @settings(max_examples=CLUSTERS)
    @given(number=st.integers(0, 10**9))
    def holds(number: int) -> None:
        planned(full_of_small_gangs(Random(number)))

    holds()
    assert searches.seen["ended early"] >= ENOUGH, f"too easy: {searches.seen}"
    assert searches.seen["could succeed"] >= ENOUGH, f"too easy: {searches.seen}"


@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
def test_in_any_cluster(
    reach: Reach, seed: int, searches: "Searches", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_module, "FEW", 1)

    @seeded(seed)
    @settings(max_examples=CLUSTERS)
    @given(recipe=recipes(reach, Style.LENT))
    def holds(recipe: Recipe) -> None:
        planned(grow(recipe))

    holds()
    assert searches.seen["not known"], f"too easy: {searches.seen}"


def full_of_small_gangs(rng: Random) -> Cluster:
    """Nodes that one leaf or two fill with small gangs, and others that wait for larger pieces of a node."""
    weights = {name: rng.randint(1, 4) for name in QUEUES}
    documents = [
        queue(name, {"weight": weights[name], **({"parent": parent} if parent else {})}, 50_000)
        for name, parent in QUEUES.items()
    ]
    idle = {f"n{number}": rng.randint(4, 8) for number in range(rng.randint(6, 14))}
    documents += [
        node(name, {"cpu": 1000 * cores, "memory": 4000, "pods": 110}, {}) for name, cores in idle.items()
    ]
    hogs, sizes = rng.sample(LEAVES, rng.choice((1, 2))), rng.choice(((1,), (1, 2), (1, 2, 3)))
    for number in range(80):
        plan = _gang(f"r{number}", rng.choice(hogs), rng.choice((1, 1, 2)), rng.choice(sizes), rng)
        nodes = [name for name, cores in idle.items() if cores >= plan.request["cpu"] // 1000]
        if len(nodes) < plan.size:
            continue
        pods = pods_of(plan)
        for pod, name in zip(pods, rng.sample(nodes, plan.size), strict=True):
            idle[name] -= plan.request["cpu"] // 1000
            pod["spec"]["nodeName"], pod["status"]["phase"] = name, "Running"
        documents += [pod_group(plan, "Running"), *pods]
    for number in range(10):
        plan = _gang(f"w{number}", rng.choice(LEAVES), rng.choice((1, 1, 2, 4)), rng.randint(2, 8), rng)
        documents += [pod_group(plan, "Inqueue"), *pods_of(plan)]
    return Cluster(documents)


def _gang(name: str, leaf: str, size: int, cores: int, rng: Random) -> GroupPlan:
    return GroupPlan(
        name=name,
        namespace=rng.choice(NAMESPACES[:2]),
        queue=leaf,
        size=size,
        min_member=size,
        request={"cpu": 1000 * cores, "memory": rng.choice((1, 1, 100))},
        age=rng.randrange(1000, 9000),
    )


class Searches:
    """Runs every search twice: to its end, and as it is."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        self.seen = Counter[str]()
        self._at_most: set[tuple[str, ...]] | None = None  # what the search that runs may still take
        self._may_fit, self._is_looking = True, False
        gather, may_fit = Attempt._gather, Attempt._may_fit  # noqa: SLF001 (what is compared)
        take = Reclaim._take  # noqa: SLF001

        def gather_twice(attempt: Attempt, where: int | None) -> list[Unit]:
            self._at_most, self._may_fit, self._is_looking = None, True, True
            with attempt.state.trial():
                whole = gather(attempt, where)
            attempt._put_back(whole)  # noqa: SLF001 (it is done again)
            self._is_looking, could_fit, saw = False, self._may_fit, attempt.saw_candidates
            found = gather(attempt, where)
            assert [unit.pods for unit in found] == [unit.pods for unit in whole]
            assert could_fit or not whole
            assert attempt.saw_candidates == saw
            return found

        def look(attempt: Attempt) -> bool:
            fits = may_fit(attempt)
            if not self._is_looking:
                return fits
            units = attempt.units_at_most()
            self._at_most = None if units is None else {_pods(unit) for unit in units}
            self._may_fit = fits
            outcome = "not known" if units is None else "could succeed" if fits else "ended early"
            self.seen[outcome] += 1
            return True

        def take_expected(attempt: Reclaim, unit: Unit) -> None:
            assert not self._is_looking or self._at_most is None or _pods(unit) in self._at_most
            take(attempt, unit)

        patches.setattr(Attempt, "_gather", gather_twice)
        patches.setattr(Attempt, "_may_fit", look)
        patches.setattr(Reclaim, "_take", take_expected)


@pytest.fixture
def searches(
    monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> Iterator[Searches]:
    found = Searches(monkeypatch)
    yield found
    record_property("seen", str(found.seen))


def _pods(unit: Unit) -> tuple[str, ...]:
    return tuple(pod.key for pod in unit.pods)
