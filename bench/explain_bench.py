"""An explanation where thousands wait, plain and ordinary, beside a decision there."""

import argparse
from typing import Final

from measure import line
from ordinary import both
from simulation_bench import START
from whatif_bench import Size, full_cluster, median_cpu_ms

from maar.core.answers.explain.ask import Explainer
from maar.core.answers.explain.decision_trials import DecisionTrials
from maar.core.answers.explain.subject import Subject
from maar.core.answers.future import Future, Present
from maar.core.model.pod_group import PodGroup

TARGET: Final = "target 2,000 ms"


def main() -> None:
    """Explain a group in the middle of those that wait, and try one change that helps nobody."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=1_000)
    options.add_argument("--waiting", type=int, default=10_000)
    options.add_argument("--times", type=int, default=3)
    chosen = options.parse_args()
    objects = full_cluster(Size(chosen.nodes, chosen.waiting))
    for name, of_cluster in both(objects, START):
        explain(name, Present(tuple(of_cluster), now=START), chosen.times)


def explain(name: str, present: Present, times: int) -> None:
    """Print what the answer takes on one cluster."""
    objects = present.objects
    waiting = [one.key for one in objects if isinstance(one, PodGroup) and one.status.phase != "Running"]
    key = waiting[len(waiting) // 2]
    future = Future(present)
    future.now()
    engine, now = future.simulation.engine, future.simulation.time
    decision = median_cpu_ms(lambda: engine.decide(now), times)
    print(f"{name}: {len(waiting):,} waiting groups; reference: a decision that changes nothing")
    subject = Subject("podgroup", key, key)
    whole = median_cpu_ms(lambda: Explainer(present, subject).explanation(), times)
    line("an explanation, the cluster read from objects", whole, decision, TARGET)
    trials = DecisionTrials(present, key)
    trials.effect()
    line("one more try of a change", median_cpu_ms(trials.effect, 1), decision, "")


if __name__ == "__main__":
    main()
