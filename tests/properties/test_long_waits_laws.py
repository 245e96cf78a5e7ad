"""Laws of plans with the plugin `sla` on random clusters; before its time it changes nothing (P4)."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from maar.core.model.kinds import to_json
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, configured, recipes
from properties.how_many import cases
from properties.law_checkers import OF_PLANS
from properties.long_waits import breaches_with_held_room, waited
from support.planning import plan

CLUSTERS: Final = cases(120)
OFTEN: Final = 0.2  # of the clusters
LAWS: Final = [law for law in OF_PLANS if law != "C6"]  # whose reasons have tests of their own


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


@pytest.mark.parametrize("reach", [Reach.MODEL, Reach.BEYOND], ids=lambda reach: reach.name)
@pytest.mark.parametrize("law", LAWS)
def test_law_with_held_room(law: str, reach: Reach, trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        seen["held"] += "heldRoom" in case.cycle
        yield from breaches_with_held_room(law, case.outcome)

    counts = trial.of(check, recipes(reach), CLUSTERS, waited)
    counts.require(OFTEN / 2)  # every second cluster is configured without evictions
    assert seen["held"] >= OFTEN * counts.clusters, f"room is seldom held: {seen}"


LONGER_THAN_ANY_AGE = "8760h"  # at the gate a group waits from its creation on


def test_p4_before_its_time_and_without_past_use_neither_plugin_changes_a_plan(trial: Trial) -> None:
    """To the byte: groups have waited, and none of them for as long as the plugin wants."""

    def check(case: Case) -> Iterator[str]:
        objects = patient(case.cluster).objects
        usual = to_json(plan(objects, None, NOW))
        for plugins in (["sla"], ["usage"], ["sla", "usage"]):
            arguments = {"sla": {"sla-waiting-time": LONGER_THAN_ANY_AGE, "depth": 3}}
            if to_json(plan(objects, configured(plugins, arguments), NOW)) != usual:
                yield f"{plugins} change a plan"

    trial.of(check, recipes(Reach.BEYOND), CLUSTERS, waited)


def patient(cluster: Cluster) -> Cluster:
    """The cluster in which no group states how long it may wait."""
    documents = []
    for document in cluster.documents:
        if document["kind"] == "PodGroup":
            metadata = {**document["metadata"], "annotations": {}}
            conditions = [one for one in document["status"]["conditions"] if one["type"] != "HoldsRoom"]
            status = {**document["status"], "conditions": conditions}
            documents.append({**document, "metadata": metadata, "status": status})
        else:
            documents.append(document)
    return Cluster(documents)
