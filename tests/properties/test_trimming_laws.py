"""Trimming victims by amounts gives what placing all pods for every unit gives, on random clusters."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from maar.core.cycle.evicting import promises as promises_module
from maar.core.cycle.evicting import trimming as trimming_module
from maar.core.cycle.evicting.trimming import Trimming
from maar.core.cycle.evicting.units import Unit
from properties.cluster_recipe import Reach, Recipe, Style
from properties.cluster_trials import planned
from properties.clusters import grow, recipes
from properties.how_many import cases
from properties.slow_trimming import trimmed_slowly

CLUSTERS = cases(150)
ENOUGH = CLUSTERS // 8  # sets of which something was dropped
EVICTING = (Style.LENT, Style.RANKED, Style.CROWDED)


@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
@pytest.mark.parametrize("few", [0, promises_module.FEW], ids=["counting at once", "counting when many"])
def test_the_same_units_are_dropped_and_the_same_nodes_found(
    few: int,
    reach: Reach,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    seen, needed = Counter[str](), Trimming.needed

    def both(self: Trimming) -> list[Unit]:
        slow, nodes = trimmed_slowly(self)
        fast = needed(self)
        assert [unit.pods for unit in fast] == [unit.pods for unit in slow]
        assert self.promises.found == nodes
        seen["trimmed"] += 1
        seen["dropped"] += len(fast) < len(self.taken)
        return fast

    monkeypatch.setattr(trimming_module, "FEW", few)
    monkeypatch.setattr(Trimming, "needed", both)

    @seeded(seed)
    @settings(max_examples=CLUSTERS)
    @given(recipe=recipes(reach, *EVICTING), groups=st.integers(10, 60))
    def holds(recipe: Recipe, groups: int) -> None:
        planned(grow(replace(recipe, groups=groups)))

    holds()
    record_property("seen", str(seen))
    assert seen["dropped"] >= ENOUGH, f"too easy: {seen}"
