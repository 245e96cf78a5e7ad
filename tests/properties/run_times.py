"""Minimum run times from their definition in docs/specification/eviction.md, slowly, and law E9."""

import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from maar.core.model.durations import seconds
from maar.core.model.pod import Pod
from maar.core.model.queue import ROOT
from properties.cluster_manifests import NOW, Document, ago
from properties.cluster_manifests import queue as queue_document
from properties.cluster_reading import Reading
from properties.cluster_recipe import Recipe
from properties.clusters import Cluster, grow
from properties.cycle_outcomes import Outcome
from properties.definitions import falls_short
from properties.eviction_checkers import explained

FIELDS: Final = {"preempt": "preemptMinRuntime", "reclaim": "reclaimMinRuntime"}
LENGTHS: Final = ("0", "30s", "2m", "10m", "1h")
SHORT_LENGTHS: Final = ("0", "1s", "2s", "4s")
LONG_AGO: Final = NOW - timedelta(days=3650)


# --- clusters


def timed(recipe: Recipe) -> Cluster:
    """A random cluster whose queues set minimum run times, and whose pods have run for some time."""
    return with_run_times(grow(recipe), recipe, LENGTHS)


def timed_in_seconds(recipe: Recipe) -> Cluster:
    """The same with minimum run times of a few cycles."""
    return with_run_times(grow(recipe), recipe, SHORT_LENGTHS)


def with_run_times(
    cluster: Cluster, recipe: Recipe, lengths: tuple[str, ...], chance: float = 0.5
) -> Cluster:
    """Give queues minimum run times, pods start times, and groups a time since which they wait."""
    rng, documents = recipe.random("run times"), deepcopy(list(cluster.documents))
    if not any(one["kind"] == "Queue" and one["metadata"]["name"] == ROOT for one in documents):
        documents.append(queue_document(ROOT, {}, 100_000))
    longest = seconds(lengths[-1])
    for document in sorted(documents, key=lambda one: (one["kind"], one["metadata"]["name"])):
        spec, status = document.get("spec", {}), document.setdefault("status", {})
        match document["kind"]:
            case "Queue":
                for field in FIELDS.values():
                    if rng.random() < chance:
                        spec[field] = rng.choice(lengths)
            case "Pod" if "nodeName" in spec and rng.random() < 0.95:
                status["startTime"] = ago(rng.choice((0.1, 0.5, 0.9, 2)) * longest * rng.random() // 1)
            case "PodGroup" if not status.get("conditions") and rng.random() < 0.5:
                since = ago(rng.choice((0.2, 0.9, 1.5)) * longest * rng.random() // 1)
                condition = {"type": "Unschedulable", "status": "True", "lastTransitionTime": since}
                status["conditions"] = [condition]
    return Cluster(documents)


def without_run_times(cluster: Cluster) -> Cluster:
    """The same cluster if no queue set a minimum run time."""
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        for field in FIELDS.values() if document["kind"] == "Queue" else ():
            document["spec"].pop(field, None)
    return Cluster(documents)


def after(cluster: Cluster, time: timedelta) -> Cluster:
    """The same cluster as it will be after some time in which nothing happens: everything is older."""
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        status = document.get("status", {})
        if "startTime" in status:
            status["startTime"] = _earlier(status["startTime"], time)
        for condition in status.get("conditions", []):
            if "lastTransitionTime" in condition:
                condition["lastTransitionTime"] = _earlier(condition["lastTransitionTime"], time)
    return Cluster(documents)


def _earlier(text: str, time: timedelta) -> str:
    return (datetime.fromisoformat(text) - time).isoformat().replace("+00:00", "Z")


# --- the definition


def min_runtime(reading: Reading, leaf: str, action: str) -> timedelta:
    """That of the queue, else of the nearest above that sets one, else 0."""
    for name in (*reading.path[leaf], ROOT):
        spec = reading.queues[name].spec
        written = spec.preempt_min_runtime if action == "preempt" else spec.reclaim_min_runtime
        if written:
            return timedelta(seconds=seconds(written))
    return timedelta(0)


def runs_since(reading: Reading, pod: Pod, now: datetime) -> datetime:
    """Since when it, and enough others of its group for its standing minimum, have been running."""
    group = reading.group_of[pod.key]
    pods = [
        one
        for one in reading.pods_of[group]
        if one.status.phase == "Succeeded"
        or (one.spec.node_name and not one.is_finished and not one.is_terminating)
    ]
    started = {one.key: one.status.start_time or (LONG_AGO if one.is_finished else now) for one in pods}
    spec, least = reading.groups[group], reading.at_first.standing_minimum(group)
    for time in sorted({LONG_AGO, *started.values()}):
        if not falls_short(spec, least, [one for one in pods if started[one.key] <= time]):
            return max(time, started[pod.key])
    return now


def waits_since(reading: Reading, group: str) -> datetime | None:
    """When its condition `Unschedulable` last turned true."""
    turned = [
        one.last_transition_time
        for one in reading.groups[group].status.conditions
        if one.type == "Unschedulable" and one.status == "True"
    ]
    return max((time for time in turned if time is not None), default=None)


def e9_minimum_run_times_hold(outcome: Outcome, now: datetime = NOW) -> Iterator[str]:
    """E9: nobody is evicted before the minimum run time, but starving groups or for who waited as long."""
    reading = outcome.reading
    for attempt in explained(outcome).attempts:
        since = None if attempt.moment.is_ready(attempt.group) else waits_since(reading, attempt.group)
        for key in attempt.victims:
            leaf = reading.leaf_of(key)
            length = min_runtime(reading, leaf, attempt.action) if leaf else timedelta(0)
            ran = now - runs_since(reading, reading.pods[key], now)
            is_patient = since is not None and now - since >= length
            if ran < length and not is_patient and not attempt.moment.is_starving(reading.group_of[key]):
                yield f"{key} has run {ran} of {length} when {attempt.action} evicts it for {attempt.group}"


# --- the reason

UNTIL: Final = re.compile(r"protected until (?P<time>\S+) by (?P<fields>.+?); it makes room")
FIELD: Final = re.compile(r"spec\.(?P<action>preempt|reclaim)MinRuntime of queue (?P<name>\S+)")


def protected_for_a_time(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """C6: a minimum run time of a pod, or the waiting of the group, ends then; the queues named set it."""
    found, reading = UNTIL.search(message), outcome.reading
    if found is None:
        yield "it does not say until when, and by what"
        return
    time, actions = datetime.fromisoformat(found["time"]), set[str]()
    for field in FIELD.finditer(found["fields"]):
        actions.add(field["action"])
        spec = reading.queues[field["name"]].spec
        own = spec.preempt_min_runtime if field["action"] == "preempt" else spec.reclaim_min_runtime
        if not own or not seconds(own):
            yield f"queue {field['name']} sets no minimum run time"
    if time <= NOW:
        yield "that time is over"
    if time not in {_second(one) for one in ends(reading, group, actions, NOW)}:
        yield "nothing ends then"


def ends(reading: Reading, group: str, actions: set[str], now: datetime) -> Iterator[datetime]:
    """The times at which pods may be evicted, by their own age or by how long the beneficiary has waited."""
    since = None if reading.at_first.is_ready(group) else waits_since(reading, group)
    for key, pod in reading.pods.items():
        leaf = reading.leaf_of(key)
        if leaf is None or not pod.spec.node_name or pod.is_finished or pod.is_terminating:
            continue
        for action in actions:
            length = min_runtime(reading, leaf, action)
            yield runs_since(reading, pod, now) + length
            if since is not None:
                yield since + length


def _second(time: datetime) -> datetime:
    return datetime.fromtimestamp(ceil(time.timestamp()), time.tzinfo)


def groups_of(cluster: Cluster) -> list[Document]:
    """The pod groups of a cluster."""
    return [one for one in cluster.documents if one["kind"] == "PodGroup"]
