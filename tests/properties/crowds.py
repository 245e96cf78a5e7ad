"""Crowded clusters over time: many groups that are alike wait, little happens between decisions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Final

from msgspec.structs import replace

from maar.core.engine import Engine
from maar.core.model.affinity import Affinity, PodAffinity, PodAffinityTerm, PreferredPodTerm, Toleration
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.metadata import Condition, LabelSelector, Metadata
from maar.core.model.namespace import WEIGHT_RESOURCE, Namespace, QuotaSpec, ResourceQuota
from maar.core.model.node import Node, NodeSpec, NodeStatus, Taint
from maar.core.model.plan import Plan
from maar.core.model.pod import (
    GROUP_ANNOTATION,
    Container,
    ContainerPort,
    Named,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.policy.configuration import Configuration, parse
from maar.core.policy.grammar import ACTIONS, USUAL_TIERS
from maar.core.policy.plugin_hooks import PluginFactory, PluginHooks
from maar.core.simulation.cluster import ImaginaryCluster, succeeded
from properties.cluster_manifests import NOW

NAMESPACES: Final = ("a", "b", "c")
PRIORITIES: Final = {"low": 1, "high": 10}
SELECTOR: Final = LabelSelector(match_labels={"app": "one"})
HOST: Final = PodAffinityTerm(topology_key="kubernetes.io/hostname", label_selector=SELECTOR)
APART: Final = Affinity(
    pod_anti_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(HOST,))
)
PREFERABLY_APART: Final = Affinity(
    pod_anti_affinity=PodAffinity(
        preferred_during_scheduling_ignored_during_execution=(
            PreferredPodTerm(weight=100, pod_affinity_term=HOST),
        )
    )
)


def configuration(rng: Random, *, counts_use: bool = True) -> Configuration:
    """The usual one, or with a plugin more or less, or other actions."""
    tiers: list[list[dict[str, object]]] = [[{"name": name} for name in tier] for tier in USUAL_TIERS]
    more: list[dict[str, object]] = []
    plugins: dict[str, PluginFactory] = {}
    actions: tuple[str, ...] = ACTIONS
    match rng.randrange(12):
        case 0:
            more.append({"name": "sla", "arguments": {"sla-waiting-time": "2s", "depth": 2}})
        case 1 | 2 if counts_use:
            more.append({"name": "usage", "arguments": {"halfLife": "20s"}})
        case 3:
            left_out = rng.choice([one["name"] for tier in tiers for one in tier])
            tiers = [[one for one in tier if one["name"] != left_out] for tier in tiers]
        case 4 | 5:
            actions = tuple(rng.sample(ACTIONS, rng.randint(3, len(ACTIONS))))
        case 6:
            tiers = [[{**one, "enableJobOrder": rng.random() < 0.5} for one in tier] for tier in tiers]
        case 7:
            plugins = {"theirs": _third_party}
            more.append({"name": "theirs", "arguments": {"orders": rng.random() < 0.6}})
        case _:
            pass
    document: dict[str, object] = {
        "actions": ", ".join(actions),
        "tiers": [{"plugins": [*tiers[0], *more]}, *({"plugins": tier} for tier in tiers[1:])],
    }
    if "cleanup" in actions:
        document["configurations"] = [{"name": "cleanup", "arguments": {"gracePeriod": "3s"}}]
    return parse(document, plugins)


def _third_party(arguments: Mapping[str, object]) -> PluginHooks:
    """An order of jobs by the last digit of their names, or a filter and a score for large pods."""
    if arguments["orders"]:
        return PluginHooks(job_order=lambda group: (int(group.key[-1]) % 3,))
    return PluginHooks(
        concerns=lambda requests: requests.get("cpu", 0) >= 2000,
        filter=lambda pod, node: (pod.key[-3:] + node.name) not in ("4-0n0", "2-0n1"),
        score=lambda _pod, node: float(len(node.pods)),
    )


@dataclass(frozen=True)
class Job:
    """What a group is made of; groups of one job are alike but for their names and ages."""

    queue: str
    namespace: str
    size: int
    min_member: int
    request: Resources
    priority: str
    min_resources: Resources | None
    spec: PodSpec
    makes_pods_late: bool
    other: PodSpec | None = None  # of the last of its pods, where that is another


@dataclass(eq=False)
class Crowd:
    """A cluster, the jobs that are submitted to it, and what happens to it."""

    rng: Random
    configuration: Configuration
    cluster: ImaginaryCluster = field(init=False)
    objects: dict[tuple[str, str], AnyObject] = field(default_factory=dict)  # other than pods and groups
    time: float = NOW.timestamp()
    _jobs: list[Job] = field(default_factory=list)
    _made: int = 0

    def __post_init__(self) -> None:
        self.cluster = ImaginaryCluster(
            Engine(self.configuration), self._now(), resubmits=self.rng.random() < 0.5
        )
        self._put(*self._begin())
        self._jobs = [self._job() for _ in range(self.rng.randint(1, 3))]
        self.cluster.learn([one for _ in range(self.rng.randint(5, 40)) for one in self._submit()])

    def live(self, cycles: int) -> Iterator[Plan]:
        """Decide, carry it out, and let something happen; the plans, before they are carried out."""
        for _ in range(cycles):
            plan = self.cluster.engine.decide(self.time)
            yield plan
            self.cluster.apply(plan)
            self.time += self.rng.choice((0.0, 1.0, 1.0, 5.0))
            self.cluster.now = self._now()
            for _ in range(self.rng.choice((0, 1, 1, 1, 2, 5))):
                self._happen()

    def events(self) -> list[Event]:
        """All objects as they are."""
        cluster = self.cluster
        objects = (*self.objects.values(), *cluster.groups.values(), *cluster.pods.values())
        return [Upserted(object=one) for one in objects]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    def _put(self, *objects: AnyObject) -> None:
        for one in objects:
            if not isinstance(one, Pod):  # the cluster has them
                self.objects[type(one).__name__, one.key] = one
        self.cluster.learn([Upserted(object=one) for one in objects])

    def _begin(self) -> Iterator[AnyObject]:
        rng = self.rng
        for name, value in PRIORITIES.items():
            yield PriorityClass(metadata=Metadata(name=name), value=value)
        for name in NAMESPACES:
            yield Namespace(metadata=Metadata(name=name))
            if rng.random() < 0.3:
                spec = QuotaSpec(hard={WEIGHT_RESOURCE: rng.randint(1, 3)})
                yield ResourceQuota(metadata=Metadata(name="weight", namespace=name), spec=spec)
        for number in range(rng.randint(1, 6)):
            yield self._node(f"n{number}", is_tainted=rng.random() < 0.1)
            if rng.random() < 0.3:
                yield self._pod_of_others(f"system-{number}", f"n{number}")
        parents = [f"d{number}" for number in range(rng.choice((0, 0, 1, 2)))]
        for name in parents:
            yield self._queue(name, "")
        for number in range(rng.randint(1, 5)):
            yield self._queue(f"q{number}", rng.choice(["", *parents]))

    def _node(self, name: str, *, is_tainted: bool) -> Node:
        cpu = self.rng.choice((4_000, 8_000, 8_000, 16_000))
        taints = (Taint(key="kept", value="yes", effect="NoSchedule"),) if is_tainted else ()
        size = Resources({"cpu": cpu, "memory": 16 * 2**30, "pods": self.rng.choice((6, 110))})
        return Node(
            metadata=Metadata(name=name, labels={"kubernetes.io/hostname": name}),
            spec=NodeSpec(taints=taints),
            status=NodeStatus(allocatable=size, conditions=(Condition(type="Ready", status="True"),)),
        )

    def _pod_of_others(self, name: str, node: str) -> Pod:
        """A pod of another scheduler, with constraints on other pods more often than not."""
        rng = self.rng
        spec = PodSpec(
            node_name=node,
            scheduler_name="default-scheduler",
            containers=(Container(name="main", ports=rng.choice(((), (ContainerPort(host_port=9100),)))),),
            affinity=rng.choice((None, APART, PREFERABLY_APART)),
        )
        labels = {"app": rng.choice(("one", "other"))}
        metadata = Metadata(name=name, namespace=rng.choice(("kube-system", *NAMESPACES)), labels=labels)
        return Pod(metadata=metadata, spec=spec, status=PodStatus(phase="Running"))

    def _queue(self, name: str, parent: str) -> Queue:
        rng = self.rng
        spec = QueueSpec(
            parent=parent,
            weight=rng.randint(1, 3),
            priority=rng.choice((0, 0, 0, 1)),
            reclaimable=rng.random() < 0.9,
            capability=Resources({"cpu": 1000 * rng.randint(1, 20)}) if rng.random() < 0.2 else Resources(),
            guarantee=Guarantee(
                resource=Resources({"cpu": 1000 * rng.randint(1, 6)}) if rng.random() < 0.2 else Resources()
            ),
            dequeue_strategy="fifo" if rng.random() < 0.3 else "traverse",
            preempt_min_runtime="3s" if rng.random() < 0.1 else "",
            reclaim_min_runtime="3s" if rng.random() < 0.1 else "",
        )
        return Queue(metadata=QueueMetadata(name=name, uid=name), spec=spec)

    def _job(self) -> Job:
        rng = self.rng
        leaves = [one.key for one in self.objects.values() if isinstance(one, Queue) and one.key[0] == "q"]
        size = rng.choice((1, 1, 1, 2, 3, 5))
        request = Resources({"cpu": rng.choice((500, 1000, 2000, 3000)), "memory": 2**30})
        if rng.random() < 0.1:
            request = Resources()
        least = size + 1 if rng.random() < 0.05 else rng.choice((size, size, size, 1, 0))
        spec = PodSpec(
            containers=(Container(name="main", resources=ResourceRequirements(requests=request)),),
            tolerations=(Toleration(key="kept", operator="Exists"),) if rng.random() < 0.2 else (),
            node_selector={"kubernetes.io/hostname": "n0"} if rng.random() < 0.1 else {},
            affinity=APART if rng.random() < 0.03 else None,
            preemption_policy="Never" if rng.random() < 0.1 else "PreemptLowerPriority",
        )
        least_cpu = Resources({"cpu": request.get("cpu", 0) * max(1, least)}) if rng.random() < 0.6 else None
        return Job(
            queue="missing" if rng.random() < 0.03 else rng.choice(leaves),
            namespace=rng.choice(NAMESPACES),
            size=size,
            min_member=least,
            request=request,
            priority=rng.choice(("", "", *PRIORITIES)),
            min_resources=least_cpu,
            spec=spec,
            makes_pods_late=rng.random() < 0.15,
            other=_of(rng.choice((0, 500, 4000)), spec) if rng.random() < 0.2 else None,
        )

    def _submit(self) -> list[Event]:
        rng, job = self.rng, self.rng.choice(self._jobs)
        self._made += 1
        name = f"g{rng.randrange(1000)}-{self._made}"
        created = datetime.fromtimestamp(self.time - rng.randint(0, 20), UTC)
        metadata = Metadata(name=name, namespace=job.namespace, creation_timestamp=created)
        group = PodGroup(
            metadata=metadata,
            spec=PodGroupSpec(
                min_member=job.min_member,
                queue=job.queue,
                priority_class_name=job.priority,
                min_resources=job.min_resources,
            ),
            status=PodGroupStatus(phase=rng.choice(("", "Pending", "Inqueue"))),
        )
        if job.makes_pods_late and group.status.phase != "Inqueue":
            return [Upserted(object=group)]
        specs = [job.spec] * job.size
        if job.other is not None:
            specs[-1] = job.other
        if rng.random() < 0.05:  # one of the pods is another, or must not be placed yet
            specs[-1] = replace(job.spec, containers=()) if rng.random() < 0.5 else _gated(job.spec)
        return [Upserted(object=group), *(self._pod(group, index, one) for index, one in enumerate(specs))]

    def _pod(self, group: PodGroup, index: int, spec: PodSpec) -> Upserted:
        name = f"{group.metadata.name}-{index}"
        metadata = replace(
            group.metadata,
            name=name,
            annotations={GROUP_ANNOTATION: group.metadata.name},
            labels={"app": "one"} if self.rng.random() < 0.2 else {},
        )
        return Upserted(object=Pod(metadata=metadata, spec=spec, status=PodStatus(phase="Pending")))

    def _happen(self) -> None:
        rng, cluster = self.rng, self.cluster
        running = [pod for pod in cluster.pods.values() if pod.status.phase == "Running"]
        chance = rng.random()
        if chance < 0.45 and running:
            cluster.learn([Upserted(object=succeeded(rng.choice(running)))])
        elif chance < 0.65:
            cluster.learn(self._submit())
        elif chance < 0.72 and cluster.groups:
            group = rng.choice(list(cluster.groups.values()))
            pods = [pod for pod in cluster.pods.values() if self._is_of(pod, group)]
            cluster.learn([Deleted(kind="Pod", key=pod.key) for pod in pods])
            cluster.learn([Deleted(kind="PodGroup", key=group.key)] if rng.random() < 0.8 else [])
        elif chance < 0.78 and cluster.pods:
            cluster.learn([Deleted(kind="Pod", key=rng.choice(list(cluster.pods)))])
        elif chance < 0.84:
            self._let_pods_come()
        elif chance < 0.88:
            nodes = [one for one in self.objects.values() if isinstance(one, Node)]
            node = rng.choice(nodes)
            self._put(replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable)))
        elif chance < 0.92:
            queues = [one for one in self.objects.values() if isinstance(one, Queue)]
            old = rng.choice(queues)
            self._put(self._queue(old.key, old.spec.parent))
        elif chance < 0.93 and rng.random() < 0.5:
            self._put(self._pod_of_others("system-now", f"n{rng.randrange(8)}"))
        elif chance < 0.93:
            self._put(self._node(f"n{rng.randrange(8)}", is_tainted=rng.random() < 0.1))
        else:  # another kind of job, a few at once
            self._jobs.append(self._job())
            cluster.learn([one for _ in range(self.rng.randint(3, 15)) for one in self._submit()])

    def _let_pods_come(self) -> None:
        """A controller makes the pods of a group that was let in without them."""
        with_pods = {pod.metadata.annotations.get(GROUP_ANNOTATION) for pod in self.cluster.pods.values()}
        for group in list(self.cluster.groups.values()):
            if group.metadata.name not in with_pods and group.status.phase == "Inqueue":
                spec = self.rng.choice(self._jobs).spec
                self.cluster.learn([self._pod(group, 0, spec)])

    def _is_of(self, pod: Pod, group: PodGroup) -> bool:
        name = pod.metadata.annotations.get(GROUP_ANNOTATION)
        return (pod.metadata.namespace, name) == (group.metadata.namespace, group.metadata.name)


class ContestedCrowd(Crowd):
    """One leaf has filled the nodes, and groups of several kinds come that take it back for theirs."""

    def __post_init__(self) -> None:
        self.cluster = ImaginaryCluster(Engine(self.configuration), self._now(), resubmits=True)
        self._put(*self._begin())
        self._jobs = [self._job_of("q0") for _ in range(self.rng.randint(1, 3))]
        self.cluster.learn([one for _ in range(60) for one in self._submit()])
        self.cluster.apply(self.cluster.engine.decide(self.time))
        self._jobs = [self._job_of(f"q{self.rng.randint(0, 3)}") for _ in range(self.rng.randint(4, 10))]
        self.cluster.learn([one for _ in range(60) for one in self._submit()])

    def _begin(self) -> Iterator[AnyObject]:
        for name, value in PRIORITIES.items():
            yield PriorityClass(metadata=Metadata(name=name), value=value)
        for name in NAMESPACES:
            yield Namespace(metadata=Metadata(name=name))
        for number in range(self.rng.randint(4, 8)):
            yield self._node(f"n{number}", is_tainted=False)
        yield Queue(
            metadata=QueueMetadata(name="d0", uid="d0"), spec=QueueSpec(weight=self.rng.randint(1, 3))
        )
        for number in range(4):
            guaranteed = Resources({"cpu": 1000 * self.rng.randint(4, 12)} if self.rng.random() < 0.3 else {})
            spec = QueueSpec(
                weight=self.rng.randint(1, 4),
                parent=self.rng.choice(("", "d0")),
                reclaimable=self.rng.random() < 0.8,
                guarantee=Guarantee(resource=guaranteed),
            )
            yield Queue(metadata=QueueMetadata(name=f"q{number}", uid=f"q{number}"), spec=spec)

    def _job(self) -> Job:
        return self._job_of(f"q{self.rng.randint(0, 3)}")

    def _job_of(self, leaf: str) -> Job:
        rng = self.rng
        size = rng.choice((1, 1, 2, 3))
        request = Resources({"cpu": 500 * rng.randint(1, 8), "memory": 2**30})
        container = Container(name="main", resources=ResourceRequirements(requests=request))
        return Job(
            queue=leaf,
            namespace=rng.choice(NAMESPACES) if rng.random() < 0.1 else NAMESPACES[0],
            size=size,
            min_member=size,
            request=request,
            priority=rng.choice(("", "", "", *PRIORITIES)),
            min_resources=None,
            spec=PodSpec(containers=(container,)),
            makes_pods_late=False,
            other=_of(rng.choice((500, 4000)), PodSpec()) if rng.random() < 0.2 else None,
        )


def _of(cpu: int, spec: PodSpec) -> PodSpec:
    requests = Resources({"cpu": cpu} if cpu else {})
    container = Container(name="main", resources=ResourceRequirements(requests=requests))
    return replace(spec, containers=(container,))


def _gated(spec: PodSpec) -> PodSpec:
    return replace(spec, scheduling_gates=(Named(name="later"),))
