"""Random clusters as Kubernetes objects, made so that they are full, lent and fought over.

Hypothesis draws a `Recipe`, a handful of numbers that it can shrink; the cluster grows from the
recipe alone. A failure prints its recipe and, cut down object by object, the smallest cluster that
still fails.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Final

import yaml
from hypothesis import strategies as st

from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.model.pod_group import SLA_ANNOTATIONS
from properties.cluster_growth import RESOURCES, Growth, is_part_of
from properties.cluster_manifests import Document
from properties.cluster_recipe import Reach, Recipe, Style


def configured(plugins: Sequence[str], arguments: Mapping[str, object] | None = None) -> Mapping[str, object]:
    """The usual configuration with more plugins, and with arguments of some."""
    usual = {"nodeorder": {"leastrequested.weight": 0}}
    second = ("nodeorder", "overcommit", "drf", "predicates", "proportion", "binpack", *plugins)
    tiers = [
        [{"name": name, "arguments": {**usual, **(arguments or {})}.get(name, {})} for name in tier]
        for tier in (("priority", "gang", "conformance"), second)
    ]
    return {"tiers": [{"plugins": tier} for tier in tiers]}


WITH_USAGE: Final = configured(["usage"])
WITH_SLA: Final = configured(["sla"], {"sla": {"depth": 3}})


@dataclass(frozen=True)
class Cluster:
    """A snapshot: manifests, in no particular order."""

    documents: Sequence[Document]

    @cached_property
    def objects(self) -> list[Object]:
        """The manifests as Maar reads them."""
        return [as_object(document) for document in self.documents]

    @property
    def configuration(self) -> object:
        """What it is decided by: with the plugin usage where queues have histories, or sla, else as usual."""
        histories = [one for one in self.documents if one.get("status", {}).get("history")]
        marked = [note for one in self.documents for note in one["metadata"].get("annotations", {})]
        if any(note in SLA_ANNOTATIONS for note in marked):
            evicts = len(self.documents) % 2  # where nobody is evicted, more room is held
            return WITH_SLA if evicts else {**WITH_SLA, "actions": "enqueue, allocate, backfill"}
        return WITH_USAGE if histories else None

    def shuffled(self, rng: Random) -> "Cluster":
        """Return the same objects in another order."""
        return Cluster(rng.sample(self.documents, len(self.documents)))

    def __str__(self) -> str:
        return "---\n".join(yaml.safe_dump(document, sort_keys=False) for document in self.documents)


def grow(recipe: Recipe) -> Cluster:
    """Return the cluster of a recipe; the same recipe always gives the same."""
    return Cluster(Growth(recipe).grow())


def as_object(document: Document) -> Object:
    """Read a manifest."""
    kind = kind_of(document["apiVersion"], document["kind"])
    assert kind is not None, document
    return from_document(kind, document)


def recipes(reach: Reach, *styles: Style) -> st.SearchStrategy[Recipe]:
    """Recipes of all sizes; without styles named, of every style.

    They are drawn as bytes: Hypothesis draws those evenly, and still shrinks each of them.
    """
    among = styles or (*Style, Style.LENT, Style.RANKED, Style.CROWDED)  # where most happens

    def read(drawn: bytes) -> Recipe:
        nodes, queues, groups, resources, style, *seed = drawn
        return Recipe(
            seed=int.from_bytes(seed),
            nodes=1 if reach is Reach.SINGLE else 1 + nodes % 4,
            queues=1 + queues % 7,
            groups=3 + groups % 22,
            resources=1 + resources % len(RESOURCES),
            style=among[style % len(among)],
            reach=reach,
        )

    return st.binary(min_size=9, max_size=9).map(read)


def cut_down(cluster: Cluster, fails: Callable[[Cluster], bool]) -> Cluster:
    """Drop objects, a node or a group with its pods, or one by one, while the cluster still fails."""
    kept, shrinking = list(cluster.documents), True
    while shrinking:
        shrinking = False
        for document in list(kept):
            if document not in kept or is_needed(document, kept):
                continue
            family = [one for one in kept if one["kind"] == "Pod" and is_part_of(one, document)]
            for gone in ([document, *family], [document] if document["kind"] != "Node" else kept):
                left = [one for one in kept if one not in gone]
                if fails(Cluster(left)):
                    kept, shrinking = left, True
                    break
    return Cluster(kept)


def is_needed(document: Document, documents: Sequence[Document]) -> bool:
    """Whether another object names this one, so that without it the cluster would be another story."""
    if document["kind"] == "Queue":
        name = document["metadata"]["name"]
        return any(
            name in (one["spec"].get("queue"), one["spec"].get("parent"))
            for one in documents
            if "spec" in one
        )
    return bool(document["kind"] == "PriorityClass")


@dataclass
class TrialCounts:
    """What happened in the clusters that a law was tried on: a law that only met quiet ones was not tried."""

    clusters: int = 0
    seen: Counter[str] = field(default_factory=Counter)

    def count(self, cycle: Mapping[str, Any]) -> None:
        """Add one cluster, by its first plan."""
        actions = {eviction["action"] for eviction in cycle["evictions"]}
        self.clusters += 1
        self.seen.update(actions)
        self.seen["evictions"] += bool(actions)
        self.seen["binds"] += bool(cycle["binds"])
        queues = cycle["queues"].values()
        self.seen["lending"] += any(float(queue["share"]) > 1 for queue in queues)
        self.seen["reduced"] += any(
            condition["type"] == "GuaranteeReduced" and condition["status"] == "True"
            for queue in queues
            for condition in queue["conditions"]
        )

    def require(self, evictions: float) -> None:
        """Fail where too few clusters had evictions, or one kind of them hardly ever came up."""
        assert self.seen["evictions"] >= evictions * self.clusters, f"too quiet: {self}"

    def __str__(self) -> str:
        parts = ("binds", "evictions", "reclaim", "preempt", "cleanup", "lending", "reduced")
        percent = ", ".join(f"{part} {100 * self.seen[part] // max(1, self.clusters)}%" for part in parts)
        return f"{self.clusters} clusters; {percent}"
