"""Clusters over time: what a plan leads to, and the laws over several cycles (C7, F11, E6, E7)."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from maar.core.model.pod import EVICTED_FOR_ANNOTATION, Pod
from properties.cluster_manifests import NOW, Document, ago
from properties.cluster_reading import Reading
from properties.clusters import Cluster
from properties.cycle_outcomes import Outcome, fits_together, turn
from properties.definitions import asked
from properties.placement_checkers import is_allowed

Cycle = Mapping[str, Any]
Planner = Callable[[Cluster, datetime], Cycle]
STEP = timedelta(seconds=1)


@dataclass(frozen=True)
class Future:
    """How a cluster goes on after a plan."""

    resubmits: bool = True  # victims come back
    lingers: bool = False  # victims take a cycle to go
    runs_for: int = 0  # cycles after which a running pod has succeeded; 0: it runs on

    def of(self, cluster: Cluster, cycle: Cycle, now: datetime) -> Cluster:
        """Return the cluster as the plan and a moment leave it."""
        documents = list[Document]()
        for old in cluster.documents:
            document = deepcopy(old)
            match document["kind"]:
                case "Pod":
                    documents += self._pod(document, cycle, now)
                case "PodGroup":
                    documents.append(_group(document, cycle, now))
                case _:
                    documents.append(document)
        return Cluster(documents)

    def _pod(self, pod: Document, cycle: Cycle, now: datetime) -> list[Document]:
        key, metadata = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", pod["metadata"]
        evicted = {one["pod"]: one["for"] for one in cycle["evictions"]}
        pod["status"].pop("nominatedNodeName", None)
        if key in cycle["nominations"]:
            pod["status"]["nominatedNodeName"] = cycle["nominations"][key]
        if "deletionTimestamp" in metadata:
            is_victim = EVICTED_FOR_ANNOTATION in metadata.get("annotations", {})
            return [_fresh(pod)] if self.resubmits and is_victim else []
        if key in evicted and self.lingers:
            metadata["deletionTimestamp"] = ago(0)
            metadata["annotations"][EVICTED_FOR_ANNOTATION] = evicted[key] or ""
            return [pod]
        if key in evicted:
            return [_fresh(pod)] if self.resubmits else []
        if key in cycle["binds"]:
            pod["spec"]["nodeName"], pod["status"]["phase"] = cycle["binds"][key], "Running"
            pod["status"]["startTime"] = now.isoformat()
        elif self.runs_for and pod["status"]["phase"] == "Running" and "annotations" in metadata:
            ran = int(metadata["annotations"].get("ran-for", 0)) + 1
            metadata["annotations"]["ran-for"] = str(ran)
            if ran >= self.runs_for:
                pod["status"]["phase"] = "Succeeded"
        return [pod]


def _fresh(pod: Document) -> Document:
    """The same pod, submitted again."""
    pod["spec"].pop("nodeName", None)
    pod["metadata"].pop("deletionTimestamp", None)
    pod["metadata"]["annotations"].pop(EVICTED_FOR_ANNOTATION, None)
    pod["status"] = {"phase": "Pending"}
    return pod


def _group(group: Document, cycle: Cycle, now: datetime) -> Document:
    """The phase that the plan says, and since when the group has been unschedulable."""
    reported = cycle["podGroups"][f"{group['metadata']['namespace']}/{group['metadata']['name']}"]
    status = group.setdefault("status", {})
    was = [one for one in status.pop("conditions", []) if one["type"] == "Unschedulable"]
    status["phase"] = reported["phase"]
    if reported["reason"] and reported["phase"] in ("Pending", "Inqueue", "Unknown"):
        new = {"type": "Unschedulable", "status": "True", "lastTransitionTime": now.isoformat()}
        status["conditions"] = was or [new]
    return group


@dataclass
class History:
    """Cycle after cycle, until nothing changes any more."""

    clusters: list[Cluster] = field(default_factory=list)
    cycles: list[Cycle] = field(default_factory=list)

    @property
    def outcomes(self) -> Iterator[Outcome]:
        """Every cycle with the snapshot it was made for."""
        for cluster, cycle in zip(self.clusters, self.cycles, strict=True):
            yield Outcome.of(cluster.objects, cycle)

    @property
    def last(self) -> Outcome:
        """The last cycle."""
        return Outcome.of(self.clusters[-1].objects, self.cycles[-1])

    @property
    def trades(self) -> list[set[tuple[str, str]]]:
        """Cycle by cycle, which group lost pods for which, as long as nothing else changes.

        Law 6 says "and no other change": where room is left over, allocate lends it to somebody, and from
        then on shares are others than those that the evictions were decided by.
        """
        result, promised = list[set[tuple[str, str]]](), set[str]()
        for outcome in self.outcomes:
            if any(result) and outcome.binds.keys() - promised:
                break
            owner, promised = outcome.reading.group_of, set(outcome.nominations)
            result.append({(owner[one.pod], one.beneficiary) for one in outcome.evictions if one.beneficiary})
        return result


def lived(cluster: Cluster, plan: Planner, future: Future, cycles: int, quiet: float = 1) -> History:
    """Let a cluster live for so many cycles, or until some in a row leave it as it was.

    One is enough where time alone changes nothing.
    """
    history, now, unchanged = History(), NOW, 0
    for _ in range(cycles):
        cycle = plan(cluster, now)
        history.clusters.append(cluster)
        history.cycles.append(cycle)
        after = future.of(cluster, cycle, now)
        unchanged = unchanged + 1 if after.documents == cluster.documents else 0
        if unchanged >= quiet:
            break
        cluster, now = after, now + STEP
    return history


# --- E6


def e6_evictions_end(history: History) -> Iterator[str]:
    """Law 6: evictions end within as many cycles as there are groups, and the five cycles after are quiet."""
    evicting = [number for number, cycle in enumerate(history.cycles) if cycle["evictions"]]
    groups = sum(one["kind"] == "PodGroup" for one in history.clusters[0].documents)
    if evicting and evicting[-1] >= groups:
        yield f"cycles {evicting} evict, with {groups} groups"


def e6_no_groups_trade_places(history: History) -> Iterator[str]:
    """Law 6, for reclaim alone: "was evicted for" has no circle."""
    lost_to = dict[str, set[str]]()
    for trades in history.trades:
        for victim, beneficiary in trades:
            lost_to.setdefault(victim, set()).add(beneficiary)
    while ends := {one for many in lost_to.values() for one in many} - lost_to.keys():
        lost_to = {one: many - ends for one, many in lost_to.items()}
        lost_to = {one: many for one, many in lost_to.items() if many}
    if lost_to:
        yield f"groups trade places: {lost_to}"


def e6_no_groups_go_on_trading_places(history: History) -> Iterator[str]:
    """Law 6, for preempt alone: two groups may trade places once, and nobody loses pods for the same again.

    To go on, a group that lost pods for another takes its place, directly or through others, and then loses
    pods for it again. Whoever gives pods to another bit by bit does not.
    """
    trades = history.trades
    for number, lost in enumerate(trades):
        for victim, beneficiary in sorted(lost):
            back, lost_to = {beneficiary}, dict[str, set[str]]()
            for later in trades[number + 1 :]:
                if victim in back and (victim, beneficiary) in later:
                    yield f"{victim} loses pods for {beneficiary}, takes its place and loses them again"
                    break
                for one, other in later:
                    lost_to.setdefault(one, set()).add(other)
                back = reached_from(beneficiary, lost_to)


def reached_from(group: str, lost_to: Mapping[str, set[str]]) -> set[str]:
    """A group, those that it lost pods for, those that these lost pods for, and so on."""
    found, new = set[str](), {group}
    while new:
        found |= new
        new = {one for group in new for one in lost_to.get(group, ())} - found
    return found


def e6_reclaim_is_short(history: History) -> Iterator[str]:
    """Law 6, for reclaim alone: it ends within three cycles and evicts no beneficiary."""
    evicting = [number for number, cycle in enumerate(history.cycles) if cycle["evictions"]]
    if evicting and evicting[-1] >= 3:
        yield f"cycles {evicting} evict"
    beneficiaries = {beneficiary for trades in history.trades for _, beneficiary in trades}
    victims = {victim for trades in history.trades for victim, _ in trades}
    if beneficiaries & victims:
        yield f"beneficiaries are evicted: {sorted(beneficiaries & victims)}"


# --- C7


def finite_work(cluster: Cluster) -> Cluster:
    """Return the cluster with traversing queues, and only groups that could run if they were alone."""
    reading, empty = Reading(cluster.objects), Reading(emptied(cluster).objects)
    runs_alone = {key: could_run(empty, key) for key in empty.groups}
    able = {
        key
        for key, pods in runs_alone.items()
        if pods and {pod.key for pod in fresh_pods(empty, key)} == pods
    }
    documents = list[Document]()
    for old in cluster.documents:
        document = deepcopy(old)
        key = f"{document['metadata'].get('namespace')}/{document['metadata']['name']}"
        if document["kind"] == "Queue":
            document["spec"].pop("dequeueStrategy", None)
        elif document["kind"] == "PodGroup":
            if key not in able:
                continue
            if not reading.at_first.running(key):
                document["status"] = {"phase": "Pending"}
        elif document["kind"] == "Pod":
            document["status"].pop("nominatedNodeName", None)
            if reading.group_of.get(key, "") not in able and "annotations" in document["metadata"]:
                continue
        documents.append(document)
    return Cluster(documents)


def emptied(cluster: Cluster) -> Cluster:
    """Return the cluster with all pods of groups waiting; what runs may lend the cluster its own nodes."""
    documents = deepcopy(list(cluster.documents))
    for document in documents:
        if document["kind"] == "Pod" and "annotations" in document["metadata"]:
            document["spec"].pop("nodeName", None)
    return Cluster(documents)


def c7_no_group_starves(history: History) -> Iterator[str]:
    """C7: with finite jobs, no new arrivals and `traverse`, everything that can ever fit has run."""
    last = Reading(history.clusters[-1].objects)
    for key in last.groups:
        if waiting := [pod.key for pod in last.at_first.waiting(key)]:
            reported = history.cycles[-1]["podGroups"][key]
            yield f"group {key} never started {waiting}: {reported['reason']}, {reported['message']}"


def fresh_pods(reading: Reading, group: str) -> list[Pod]:
    """The pods of a group that have yet to finish."""
    return [pod for pod in reading.pods_of[group] if not pod.is_finished and not pod.is_terminating]


def could_run(reading: Reading, group: str) -> set[str]:
    """The pods of a group that would run if nobody else of ours were there, its running pods included."""
    spec, alone = reading.groups[group].spec, set(reading.group_of)
    moment = reading.at_first.without(alone)
    if spec.queue not in reading.leaves:
        return set()
    wanted, limit = asked(reading.to_start(group) or {}), reading.real_capability
    if any(units > limit(name, one) for name in reading.path[spec.queue] for one, units in wanted.items()):
        return set()
    pods, started = fresh_pods(reading, group), set[str]()
    while pods:
        chosen = turn(moment, group, pods)
        places = fits_together(moment, chosen) if chosen and is_allowed(moment, spec.queue, chosen) else None
        if places is None:
            return set()
        moment, started = moment.with_places(places), started | places.keys()
        pods = [pod for pod in pods if pod.key not in places]
    return started


# --- F11 and E7


def f11_namespaces_are_level(outcome: Outcome, leaf: str, pod: int) -> Iterator[str]:
    """F11: in a saturated leaf used / weight is equal among namespaces that want more, to within one pod."""
    reading, moment = outcome.reading, outcome.after
    waiting = {
        reading.namespace(group)
        for key, group in reading.groups.items()
        if group.spec.queue == leaf and moment.waiting(key)
    }
    namespaces = {reading.namespace(group) for group in reading.groups.values() if group.spec.queue == leaf}
    used = {one: moment.used_by_namespace(leaf, one)["cpu"] for one in namespaces}
    for poor in waiting:
        for rich in namespaces - {poor}:
            if Fraction(used[rich] - pod, reading.weight(rich)) > Fraction(used[poor], reading.weight(poor)):
                weights = f"weights {reading.weight(rich)} and {reading.weight(poor)}"
                yield f"{rich} uses {used[rich]} while {poor} waits with {used[poor]}, {weights}"


def e7_no_entitled_group_waits(outcome: Outcome, pod: Mapping[str, int]) -> Iterator[str]:
    """E7: once quiet, no queue is overused while a pod waits that would stay within its queue's deserved."""
    reading, moment = outcome.reading, outcome.after
    overused = [
        name
        for name in reading.leaves
        if any(moment.used[name][one] - units > reading.deserved(name, one) for one, units in pod.items())
    ]
    entitled = {
        group.spec.queue
        for key, group in reading.groups.items()
        if moment.waiting(key) and outcome.is_admitted(key) and group.spec.queue in reading.leaves
        if all(
            moment.used[name][one] + 2 * units <= reading.deserved(name, one)
            for name in reading.path[group.spec.queue]
            for one, units in pod.items()
        )
    }
    if overused and entitled:
        yield f"{overused} are overused while pods of {sorted(entitled)} wait that would stay within deserved"
    for name, reported in outcome.cycle["queues"].items():
        if any(text != "0" for text in reported.get("preempting", {}).values()):
            yield f"{name} still has {reported['preempting']} preempting"
