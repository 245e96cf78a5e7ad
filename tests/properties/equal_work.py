"""Clusters of equal work, for the laws that hold to within one pod: every pod is alike and fits any node."""

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from properties.cluster_growth import GIB, NAMESPACES
from properties.cluster_manifests import Document, GroupPlan, node, pod_group, pods_of, queue, quota
from properties.cluster_recipe import Reach, Recipe, Style
from properties.clusters import Cluster

POD: Final = {"cpu": 1000, "memory": GIB}


def equal_work(recipe: Recipe) -> Cluster:
    """Grow a cluster of single-pod groups in a tree of queues; some hold more than they deserve now."""
    rng = recipe.random("equal work")
    sizes = [recipe.random(f"node {number}").randint(2, 6) for number in range(recipe.nodes)]
    documents = nodes(sizes)
    parents = dict[str, str]()
    for number in range(recipe.queues):
        own = recipe.random(f"queue {number}")
        tops = [name for name, parent in parents.items() if parent == "root"]
        parents[f"q{number}"] = own.choice(tops) if tops and own.random() < 0.4 else "root"
    leaves = [name for name in parents if name not in parents.values()]
    for number, (name, parent) in enumerate(parents.items()):
        weight = recipe.random(name).choice((1, 1, 2, 3))
        documents.append(queue(name, {"parent": parent, "weight": weight}, 50_000 - number))
    hogs = rng.sample(leaves, min(len(leaves), rng.choice((1, 1, 2))))
    places = [f"n{number}" for number, size in enumerate(sizes) for _ in range(size)]
    for number in range(recipe.groups * 2):
        own = recipe.random(f"group {number}")
        place = places.pop() if places and number < recipe.groups * rng.choice((0, 1, 1, 1.5)) else None
        leaf = own.choice(hogs if place else leaves)
        documents += single_pod(f"g{number}", leaf, own.choice(NAMESPACES), number, place)
    return Cluster(documents)


def crowded_leaf(recipe: Recipe) -> Cluster:
    """Grow a saturated leaf whose namespaces all ask for more, empty or in the possession of one."""
    rng = recipe.random("crowded leaf")
    sizes = [recipe.random(f"node {number}").randint(2, 6) for number in range(recipe.nodes)]
    documents = [*nodes(sizes), queue("leaf", {"weight": 1}, 50_000)]
    documents += [quota(namespace, str(rng.randint(1, 4))) for namespace in NAMESPACES]
    holder = rng.choice((None, None, *NAMESPACES))
    places = [f"n{number}" for number, size in enumerate(sizes) for _ in range(size)]
    wanted = list(NAMESPACES) * sum(sizes)
    rng.shuffle(wanted)
    for number, namespace in enumerate(wanted):
        place = places.pop() if places and namespace == holder else None
        documents += single_pod(f"g{number}", "leaf", namespace, number, place)
    return Cluster(documents)


def nodes(sizes: Sequence[int]) -> list[Document]:
    """Nodes with room for so many pods each."""
    return [
        node(f"n{number}", {"cpu": 1000 * size, "memory": GIB * size, "pods": 110}, {})
        for number, size in enumerate(sizes)
    ]


def single_pod(name: str, leaf: str, namespace: str, number: int, place: str | None) -> list[Document]:
    """A group of one pod, running or waiting."""
    plan = GroupPlan(name=name, namespace=namespace, queue=leaf, request=dict(POD), age=9000 - number)
    [pod] = pods_of(plan)
    if place is not None:
        pod["spec"]["nodeName"], pod["status"]["phase"] = place, "Running"
    return [pod_group(plan, "Running" if place else "Inqueue"), pod]


def small_recipes() -> st.SearchStrategy[Recipe]:
    """Recipes for clusters of equal work."""

    def read(drawn: bytes) -> Recipe:
        nodes, queues, groups, *seed = drawn
        return Recipe(
            seed=int.from_bytes(seed),
            nodes=1 + nodes % 4,
            queues=2 + queues % 5,
            groups=2 + groups % 12,
            resources=2,
            style=Style.LENT,
            reach=Reach.MODEL,
        )

    return st.binary(min_size=7, max_size=7).map(read)
