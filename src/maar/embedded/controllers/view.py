"""What the controllers of the embedded cluster read: its objects, and indexes over them.

The indexes follow from the changes of the store, in their order, and from nothing else; a change
gives an object before and after, as those of Maar's own controllers do. All changes are taken in
before a key is reconciled, so that the indexes agree with what is stored. At the start every
object is taken in as one that was added. Changes that came meanwhile follow, so an index must bear
an object that comes twice.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

import msgspec

from maar.core.controllers.work_queue import Controller
from maar.core.model.kinds import BadObjectError, metadata_of
from maar.core.model.metadata import LabelSelector, Metadata, OwnerReference
from maar.core.policy.selectors import match_selector
from maar.embedded.batch_jobs.model import JOBS, JobPod, read_job_pod
from maar.embedded.calls import text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.amounts import quantity
from maar.embedded.kinds.budgets import selector_of
from maar.embedded.kinds.parts import labels, part, words
from maar.embedded.kinds.usage import CLAIMS, FINISHED
from maar.embedded.lifecycle import FOREGROUND
from maar.embedded.store import Change, Key

PODS: Final = "pods"
_LATEST_S: Final = 253_402_300_799.0  # the last second that a datetime can be of


class ObjectChanged(NamedTuple):
    """An object of which something has changed; None where there was none, or is none any more."""

    key: Key
    before: Metadata | None
    after: Metadata | None
    body: bytes  # of one that has gone, as it was last


class Dependents:
    """Which objects have which owners; whether those exist is always looked up."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.by_owner: dict[str, set[Key]] = {}  # its uid
        self.blocking: dict[str, set[Key]] = {}  # those that an owner deleted in the foreground waits for
        self.in_foreground: set[Key] = set()  # owners that wait
        self._plurals = {
            (served.resource.group, served.resource.kind): plural for plural, served in cluster.served.items()
        }

    def owner_key(self, owner: OwnerReference, namespace: str) -> Key | None:
        """Where an owner of an object is kept; None for one of a kind that is not served here."""
        plural = self._plurals.get((owner.api_version.rpartition("/")[0], owner.kind))
        if plural is None or (self._cluster.served[plural].resource.namespaced and not namespace):
            return None
        return self._cluster.key(plural, namespace, owner.name)

    def take(self, change: ObjectChanged) -> None:
        """Know the owners of an object as they are now."""
        for owner in change.before.owner_references if change.before is not None else ():
            _leave(self.by_owner, owner.uid, change.key)
            _leave(self.blocking, owner.uid, change.key)
        for owner in change.after.owner_references if change.after is not None else ():
            self.by_owner.setdefault(owner.uid, set()).add(change.key)
            if owner.block_owner_deletion:
                self.blocking.setdefault(owner.uid, set()).add(change.key)
        if change.after is None:
            self.in_foreground.discard(change.key)
        elif waits_for_dependents(change.after):
            self.in_foreground.add(change.key)


class Offer(NamedTuple):
    """A volume that is not bound yet."""

    capacity: int
    access_modes: frozenset[str]
    mode: str
    labels: dict[str, str]
    reserved_for: tuple[str, str] | None  # the namespace and name of the claim that may have it

    def is_open_to(self, claim: Key) -> bool:
        """Whether no other claim has it reserved."""
        return self.reserved_for in (None, (claim.namespace, claim.name))

    @classmethod
    def of(cls, volume: Json) -> "Offer":
        """What a volume offers."""
        spec = part(volume, "spec")
        reference = part(spec, "claimRef")
        return cls(
            quantity(part(spec, "capacity").get("storage")).nanos,
            frozenset(words(spec, "accessModes")),
            text(spec, "volumeMode") or "Filesystem",
            dict(labels(volume)),
            (text(reference, "namespace"), text(reference, "name")) if reference else None,
        )


class Volumes:
    """Which volumes are free, and which claims wait for one."""

    def __init__(self) -> None:
        self.offers: dict[str, dict[str, Offer]] = {}  # by class and name
        self.waiting: dict[Key, str] = {}  # the classes of claims

    def take(self, change: ObjectChanged) -> None:
        """Know what a volume offers, or whether a claim waits."""
        value: Json = msgspec.json.decode(change.body)
        storage_class, is_gone = text(part(value, "spec"), "storageClassName"), change.after is None
        if change.key.resource == CLAIMS:
            if is_gone or is_bound(value):
                self.waiting.pop(change.key, None)
            else:
                self.waiting[change.key] = storage_class
        elif is_gone or text(part(value, "spec", "claimRef"), "uid"):
            self.offers.get(storage_class, {}).pop(change.key.name, None)
        else:
            self.offers.setdefault(storage_class, {})[change.key.name] = Offer.of(value)


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()


class Pod(msgspec.Struct, frozen=True, gc=False):
    """What of a pod bears on budgets."""

    metadata: Metadata = Metadata()
    status: _Status = _Status()


pod_of: Final = msgspec.json.Decoder(Pod).decode


class CountedPod(NamedTuple):
    """A pod as budgets count it."""

    is_ready: bool
    is_terminating: bool
    is_finished: bool
    controller: OwnerReference | None

    @property
    def is_healthy(self) -> bool:
        """Whether it is ready and not terminating."""
        return self.is_ready and not self.is_terminating


class BudgetPods:
    """Sums that a change of one pod changes by one; nothing is added up anew."""

    def __init__(self, selector: LabelSelector | None) -> None:
        self.selector = selector
        self.pods: dict[str, CountedPod] = {}
        self.healthy = 0
        self.of_controller: Counter[OwnerReference | None] = Counter()
        self.unfinished: Counter[OwnerReference | None] = Counter()

    def take(self, name: str, pod: Pod | None) -> None:
        """Know how a pod is now; None for one that has gone."""
        if (before := self.pods.pop(name, None)) is not None:
            self._count(before, -1)
        if pod is not None and match_selector(self.selector, pod.metadata.labels):
            now = self.pods[name] = _counted(pod)
            self._count(now, 1)

    def _count(self, pod: CountedPod, step: int) -> None:
        self.healthy += step * pod.is_healthy
        self.unfinished[pod.controller] += step * (not pod.is_finished)
        self.of_controller[pod.controller] += step
        if not self.of_controller[pod.controller]:
            del self.of_controller[pod.controller]
            del self.unfinished[pod.controller]


@dataclass(eq=False)
class View:
    """A cluster, and what its controllers look up there."""

    cluster: Cluster
    volumes: Volumes = field(default_factory=Volumes)
    budgets: dict[str, dict[str, BudgetPods]] = field(default_factory=dict)  # by namespace and name
    job_pods: dict[Key, dict[str, JobPod]] = field(default_factory=dict)  # by job and name

    def __post_init__(self) -> None:
        self.dependents = Dependents(self.cluster)

    def changes(self, changes: Iterator[Change]) -> Iterator[ObjectChanged]:
        """Take changes of the store in one by one."""
        for change in changes:
            before = None if change.before is None else metadata_of(change.before)
            after = None if change.type == "DELETED" else metadata_of(change.body)
            changed = ObjectChanged(change.key, before, after, change.body)
            self.dependents.take(changed)
            match change.key.resource:
                case "pods":
                    self._take_pod(changed)
                case "persistentvolumes" | "persistentvolumeclaims":
                    self.volumes.take(changed)
                case "poddisruptionbudgets.policy":
                    self._take_budget(changed)
            yield changed

    def _take_pod(self, change: ObjectChanged) -> None:
        _, namespace, name = change.key
        if (before := job_of(namespace, change.before)) is not None and before in self.job_pods:
            self.job_pods[before].pop(name, None)
            if not self.job_pods[before]:
                del self.job_pods[before]
        if change.after is not None and (job := job_of(namespace, change.after)) is not None:
            self.job_pods.setdefault(job, {})[name] = _job_pod(change.body, change.after)
        for counts in self.budgets.get(namespace, {}).values():
            counts.take(name, None if change.after is None else pod_of(change.body))

    def _take_budget(self, change: ObjectChanged) -> None:
        _, namespace, name = change.key
        if change.after is None:
            self.budgets.get(namespace, {}).pop(name, None)
            return
        selector = selector_of(msgspec.json.decode(change.body))
        counts = self.budgets.setdefault(namespace, {}).get(name)
        if counts is None or counts.selector != selector:
            counts = self.budgets[namespace][name] = BudgetPods(selector)
            for _, pod, body in self.cluster.store.scan(PODS, namespace):
                counts.take(pod, pod_of(body))


Write = Callable[[], object]  # a call of the cluster, which refuses by raising ApiError
Reconciled = Iterator[tuple[Key, Write | datetime]]  # each with its key
Wanted = Iterator[Write | datetime]  # what to write, or when to look again


class EmbeddedController(Controller[View, ObjectChanged, Key, Write], Protocol):
    """A controller of the embedded cluster."""


def moment(seconds: float) -> datetime:
    """A time to look at a key again; one that is too late for a datetime is as late as can be."""
    return datetime.fromtimestamp(min(seconds, _LATEST_S), UTC)


def job_of(namespace: str, pod: Metadata | None) -> Key | None:
    """The Job of batch/v1 that a pod is of."""
    for owner in pod.owner_references if pod is not None else ():
        if owner.controller and (owner.api_version, owner.kind) == ("batch/v1", "Job"):
            return Key(JOBS, namespace, owner.name)
    return None


def is_bound(claim: Json) -> bool:
    """Whether a claim has its volume, or has lost it."""
    has_volume = bool(text(part(claim, "spec"), "volumeName"))
    return has_volume and part(claim, "status").get("phase") in ("Bound", "Lost")


def waits_for_dependents(metadata: Metadata) -> bool:
    """Whether an object is deleted in the foreground."""
    return metadata.deletion_timestamp is not None and FOREGROUND in metadata.finalizers


def _job_pod(body: bytes, metadata: Metadata) -> JobPod:
    """A pod; one that cannot be read counts as active, so that no other takes its place."""
    try:
        return read_job_pod(body)
    except BadObjectError:
        owners = metadata.owner_references
        return JobPod(metadata=Metadata(name=metadata.name, uid=metadata.uid, owner_references=owners))


def _counted(pod: Pod) -> CountedPod:
    return CountedPod(
        any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions),
        pod.metadata.deletion_timestamp is not None,
        pod.status.phase in FINISHED,
        next((owner for owner in pod.metadata.owner_references if owner.controller), None),
    )


def _leave(index: dict[str, set[Key]], uid: str, key: Key) -> None:
    if keys := index.get(uid):
        keys.discard(key)
        if not keys:
            del index[uid]
