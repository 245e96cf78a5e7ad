"""An engine in virtual time: users who always ask for so many pods, and pods that end and are replaced."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from maar.core.engine import Engine
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, PodStatus, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.policy.configuration import parse

START_S = 1_767_225_600.0  # 2026-01-01, a boundary of a minute
HOUR_S = 3600.0
STEP_S = 240.0
PODS_RUN_S = 1200.0


def engine_with_usage(**arguments: object) -> Engine:
    """An engine whose configuration is the usual one and the plugin."""
    names = ("priority", "gang", "conformance", "overcommit", "drf", "predicates", "proportion", "binpack")
    plugins: list[dict[str, object]] = [{"name": name} for name in names]
    plugins.append({"name": "usage", "arguments": arguments})
    return Engine(parse({"tiers": [{"plugins": plugins}]}))


@dataclass(frozen=True)
class User:
    """Who asks for pods of one CPU, in which queue and namespace."""

    queue: str
    namespace: str = "default"


@dataclass(eq=False)
class VirtualTime:
    """Lets time pass; what users have used is counted in CPU-hours."""

    engine: Engine
    cpus: int = 8
    now: float = START_S
    hours: dict[User, float] = field(default_factory=dict)
    pods_run_s: float = PODS_RUN_S  # of pods that start from now on
    _pods: dict[str, tuple[User, float]] = field(default_factory=dict)  # when each ends; 0: it waits
    _made: int = 0

    def start(self, **queues: QueueSpec) -> None:
        """One node, and queues."""
        node = Node(
            metadata=Metadata(name="n"),
            status=NodeStatus(
                allocatable=Resources({"cpu": self.cpus * 1000, "pods": 1000}),
                conditions=(Condition(type="Ready", status="True"),),
            ),
        )
        self.engine.feed([Upserted(object=node)])
        for name, spec in queues.items():
            self.engine.feed([Upserted(object=Queue(metadata=QueueMetadata(name=name, uid=name), spec=spec))])

    def run(self, seconds: float, wanted: dict[User, int]) -> Plan:
        """Let users ask for so many pods for a time; the plan is the last one."""
        plan = Plan()
        for _ in range(round(seconds / STEP_S)):
            plan = self.step(wanted)
        return plan

    def step(self, wanted: dict[User, int]) -> Plan:
        """Decide once, carry it out, and let a step of time pass."""
        self.engine.feed([*self._ended(), *self._asked(wanted)])
        plan = self.engine.decide(self.now)
        bound = {one.pod: one.node for one in plan.binds}
        for pod, node in bound.items():
            self.engine.feed([Upserted(object=self._pod(pod, node))])
            self._pods[pod] = (self._pods[pod][0], self.now + self.pods_run_s)
        for one in plan.evictions:  # gone at once; the user asks again
            self._pods.pop(one.pod)
            self.engine.feed(_gone(one.pod))
        for user, end in self._pods.values():
            if end:
                self.hours[user] = self.hours.get(user, 0.0) + STEP_S / HOUR_S
        self.now += STEP_S
        return plan

    def used(self, user: User) -> float:
        """The CPU-hours of a user since the last time that this was asked."""
        return self.hours.pop(user, 0.0)

    def _ended(self) -> list[Event]:
        ended = [pod for pod, (_, end) in self._pods.items() if end and self.now >= end]
        events: list[Event] = []
        for pod in ended:
            del self._pods[pod]
            events += _gone(pod)
        return events

    def _asked(self, wanted: dict[User, int]) -> list[Event]:
        """Replace pods that ended, and withdraw those that nobody asks for any longer."""
        events: list[Event] = []
        there = Counter(user for user, _ in self._pods.values())
        for user in {*there, *wanted}:
            for pod in [pod for pod, (one, end) in self._pods.items() if one == user and not end]:
                if there[user] > wanted.get(user, 0):
                    there[user] -= 1
                    del self._pods[pod]
                    events += _gone(pod)
            for _ in range(wanted.get(user, 0) - there[user]):
                self._made += 1
                pod = f"{user.namespace}/p{self._made}"
                self._pods[pod] = (user, 0.0)
                events += [Upserted(object=self._group(pod)), Upserted(object=self._pod(pod))]
        return events

    def _metadata(self, pod: str) -> Metadata:
        namespace, _, name = pod.partition("/")
        made = datetime.fromtimestamp(self.now, UTC)
        return Metadata(
            name=name, namespace=namespace, creation_timestamp=made, annotations={GROUP_ANNOTATION: name}
        )

    def _group(self, pod: str) -> PodGroup:
        user, _ = self._pods[pod]
        spec = PodGroupSpec(min_member=1, queue=user.queue)
        return PodGroup(metadata=self._metadata(pod), spec=spec, status=PodGroupStatus(phase="Inqueue"))

    def _pod(self, pod: str, node: str = "") -> Pod:
        one = Container(resources=ResourceRequirements(requests=Resources({"cpu": 1000})))
        return Pod(
            metadata=self._metadata(pod),
            spec=PodSpec(node_name=node, scheduler_name="volcano", containers=(one,)),
            status=PodStatus(phase="Running" if node else "Pending"),
        )


def _gone(pod: str) -> list[Event]:
    return [Deleted(kind="Pod", key=pod), Deleted(kind="PodGroup", key=pod)]
