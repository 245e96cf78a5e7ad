"""What a reason names as its cause is the cause: without it the group starts, or waits for something else."""

from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Final

import pytest

from maar.core.model.reasons import Cure, Reason
from properties.cluster_manifests import Document
from properties.cluster_recipe import Reach
from properties.cluster_trials import Case, Trial
from properties.clusters import Cluster, recipes
from properties.full_clusters import full_cluster
from properties.how_many import cases
from properties.manifest_changes import tainted_cluster
from properties.test_reason_laws import becomes_of, decided, group_of, key_of, request, same, waiting

TRIALS: Final = cases(60)


@pytest.fixture
def trial(seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Where a law is tried."""
    return Trial(seed, record_property)


def test_r1_a_toleration_that_a_reason_names_cures_it(trial: Trial) -> None:
    seen = Counter[str]()

    def check(case: Case) -> Iterator[str]:
        for group, refusal, pods in waiting(case):
            if (
                refusal.reason != Reason.NO_NODE_FITS
                or refusal.cure != Cure.OTHER_NODES
                or not refusal.others
            ):
                continue
            became = becomes_of(tolerating(case.cluster, pods, refusal.others), group, refusal, pods)
            seen[became] += 1
            if became == "waits for the same":
                yield f"{group} waits all the same with its pods tolerating {refusal.others}: {refusal}"

    trial.of(check, recipes(Reach.MODEL), TRIALS, tainted_cluster)
    assert seen["starts"]


def tolerating(cluster: Cluster, pods: set[str], taints: tuple[str, ...]) -> Cluster:
    """Let pods tolerate taints, written as a reason writes them."""
    documents, tolerations = deepcopy(list(cluster.documents)), list[Document]()
    for taint in taints:
        pair, _, effect = taint.rpartition(":")
        key, _, value = pair.partition("=")
        tolerations.append({"key": key, "value": value, "effect": effect})
    for one in documents:
        if one["kind"] == "Pod" and key_of(one) in pods:
            one["spec"].setdefault("tolerations", []).extend(tolerations)
    return Cluster(documents)


def test_r1_a_quota_is_named_exactly_where_it_refuses_pods_that_are_missing(trial: Trial) -> None:
    seen = Counter[object]()

    def check(case: Case) -> Iterator[str]:
        documents = deepcopy(list(case.cluster.documents))  # other laws are tried on them too
        for group, missing, left in lacking_pods(documents, case.rng):
            wanted = sum(request(pod)["cpu"] for pod in missing)
            quota = {
                "apiVersion": "v1", "kind": "ResourceQuota",
                "metadata": {"name": "small", "namespace": key_of(missing[0]).partition("/")[0]},
                "spec": {"hard": {"requests.cpu": f"{1000 + left}m"}},
                "status": {"used": {"requests.cpu": "1"}},
            }  # fmt: skip
            short = [one for one in documents if one not in missing]
            [plan] = decided(Cluster([*short, quota]), 1)
            outcome = plan.pod_groups.get(group)
            refusal = outcome.refusal if outcome is not None else None
            is_named = refusal is not None and refusal.reason == Reason.EXCEEDED_QUOTA
            seen[is_named] += 1
            if is_named != (wanted > left):
                yield f"{group} lacks {wanted}, the quota has {left}: {refusal}"
            if is_named and refusal is not None:  # with the pods that it refused there is another reason
                [plan] = decided(Cluster(documents), 1)
                found = plan.pod_groups.get(group)
                if found is not None and found.refusal is not None and same(refusal, found.refusal):
                    yield f"{group} waits all the same with its pods: {found.refusal}"

    trial.of(check, recipes(Reach.MODEL), TRIALS, full_cluster)
    assert seen[True]
    assert seen[False]


def lacking_pods(documents: list[Document], rng: Random) -> Iterator[tuple[str, list[Document], int]]:
    """Let gangs in, with some of the pods that they need, and what a quota has left for these."""
    for group in (one for one in documents if one["kind"] == "PodGroup"):
        members = [one for one in documents if one["kind"] == "Pod" and group_of(one) == key_of(group)]
        least = group["spec"]["minMember"]
        if least < len(members) or any(one["spec"].get("nodeName") for one in members):
            continue
        group["status"]["phase"] = "Inqueue"
        missing = members[rng.randrange(least) :]
        wanted = sum(request(pod)["cpu"] for pod in missing)
        yield key_of(group), missing, wanted + rng.choice((-1000, -500, -1, 0, 500))
