"""Full clusters, for the laws of the gate and of loans: gangs run everywhere, others wait outside."""

from random import Random
from typing import Final

from properties.cluster_growth import NAMESPACES
from properties.cluster_manifests import (
    CLASSES,
    Document,
    GroupPlan,
    node,
    pod_group,
    pods_of,
    priority_class,
    queue,
)  # fmt: skip
from properties.cluster_recipe import Recipe
from properties.clusters import Cluster

RUNNING: Final = ("low", "low", "", "middle")
WAITING: Final = ("", "middle", "high")


def full_cluster(recipe: Recipe) -> Cluster:
    """Grow a cluster whose nodes gangs of few leaves fill, and groups that ask for admission to any leaf."""
    rng = recipe.random("full cluster")
    leaves = [f"q{number}" for number in range(1 + recipe.queues % 4)]
    idle = {f"n{number}": rng.randint(3, 8) for number in range(recipe.nodes)}
    documents = [node(name, {"cpu": 1000 * size, "pods": 110}, {}) for name, size in idle.items()]
    documents += [queue(name, {"weight": rng.randint(1, 3)}, 50_000) for name in leaves]
    documents += [priority_class(name, value) for name, value in CLASSES.items() if name]
    hogs = rng.sample(leaves, min(len(leaves), rng.choice((1, 1, 2))))
    for number in range(recipe.groups):
        plan = gang(f"r{number}", rng.choice(hogs), rng.choice(RUNNING), rng)
        if pods := placed(plan, idle):
            documents += [pod_group(plan, "Running"), *pods]
    for number in range(recipe.groups // 2):
        plan = gang(f"w{number}", rng.choice(leaves), rng.choice(WAITING), rng)
        documents += [pod_group(plan, "Pending"), *pods_of(plan)]
    return Cluster(documents)


def gang(name: str, leaf: str, importance: str, rng: Random) -> GroupPlan:
    """A group of a few pods that start together, with or without surplus."""
    size, cores = rng.choice((1, 1, 2, 4, 6)), rng.choice((1, 1, 2))
    least = rng.choice((1, size, size))
    return GroupPlan(
        name=name,
        namespace=rng.choice(NAMESPACES[:2]),
        queue=leaf,
        size=size,
        min_member=least,
        min_resources={"cpu": 1000 * cores * least},
        request={"cpu": 1000 * cores},
        priority_class=importance,
        age=rng.randrange(1000, 9000),
    )


def placed(plan: GroupPlan, idle: dict[str, int]) -> list[Document]:
    """The pods of a group on nodes that have room for them; none where one finds no node."""
    cores, pods, left = plan.request["cpu"] // 1000, pods_of(plan), dict(idle)
    for pod in pods:
        fitting = [name for name, room in left.items() if room >= cores]
        if not fitting:
            return []
        left[fitting[0]] -= cores
        pod["spec"]["nodeName"], pod["status"]["phase"] = fitting[0], "Running"
    idle.update(left)
    return pods
