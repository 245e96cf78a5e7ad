"""Law P1: with truthful run times and nothing else happening, every group starts when it was planned to."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import timedelta
from typing import Final
from zlib import crc32

import pytest

from maar.core.answers.future import Present, Start
from maar.core.answers.starts.ask import planned_starts
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.run_time import EXPECTED_RUN_TIME, stated_seconds
from maar.core.policy.configuration import DEFAULT, parse
from properties.cluster_manifests import NOW
from properties.cluster_recipe import Reach, Recipe
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, grow, recipes
from properties.how_many import cases
from properties.slow_future import SlowFuture

CLUSTERS: Final = int(os.environ.get("MAAR_PREDICTED_STARTS", cases(60)))  # 1000 take some ten minutes
LONGEST_RUN_S: Final = 40
START: Final = NOW.timestamp()


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def with_truthful_run_times(recipe: Recipe) -> Cluster:
    """A random cluster in which every pod of a group states how long it runs, and some run already."""
    documents = deepcopy(list(grow(recipe).documents))
    for one in documents:
        if one["kind"] != "Pod":
            continue
        notes, name = one["metadata"].setdefault("annotations", {}), one["metadata"]["name"]
        lasts = 1 + crc32(name.encode()) % LONGEST_RUN_S
        if GROUP_ANNOTATION in notes:
            notes[EXPECTED_RUN_TIME] = f"{lasts}s"
        if one["spec"].get("nodeName"):
            since = NOW - timedelta(seconds=crc32(name.encode()) // 64 % lasts)
            one["status"]["startTime"] = since.isoformat().replace("+00:00", "Z")
    return Cluster(documents)


def true_run_time(pod: Pod) -> float | None:
    """As long as it states; pods that are not of groups never end."""
    return stated_seconds(pod.metadata.annotations, EXPECTED_RUN_TIME)


def test_p1_every_group_starts_when_it_was_planned_to(trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        configuration = parse(case.cluster.configuration) if case.cluster.configuration else DEFAULT
        future = SlowFuture(case.cluster.objects, true_run_time, START, configuration)
        planned = [(START, planned_starts(Present(tuple(case.cluster.objects), configuration, START)))]
        for number, now in enumerate(future.moments()):
            if number in (2, 9) and now > START:
                planned.append((now, planned_starts(Present(future.objects, configuration, now))))
        for now, starts in planned:
            for key, start in starts.items():
                true = future.start_after(key, None if now == START else now)
                yield from breaches(key, start, now, true)
                seen[start.certainty] += 1
                seen["planned in the middle"] += now > START and start.time is not None
                seen["later than now"] += start.time is not None and start.time > now
        seen["with evictions"] += bool(future.evictions)

    counts = trial.of(check, recipes(Reach.MODEL), CLUSTERS, with_truthful_run_times)
    trial.record("seen", str(seen))
    assert min(seen["exact"], seen["unknown"], seen["planned in the middle"], seen["later than now"]) > 0, (
        seen
    )
    assert seen["with evictions"] > counts.clusters / 5, seen


def breaches(key: str, start: Start, planned_at: float, true: float | None) -> Iterator[str]:
    """What differs from what was planned."""
    if start.time != true:
        is_at = "never" if true is None else f"at {true - START:g} s"
        was = "never" if start.time is None else f"at {start.time - START:g} s"
        yield f"group {key} starts {is_at}; at {planned_at - START:g} s it was planned {was}: {start}"
