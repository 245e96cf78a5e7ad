"""People at work: gangs come, finish and go, and what is evicted is made again, as a controller would."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from maar.core.model.events import Event, Upserted
from maar.core.model.pod import EVICTED_FOR_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.paths import PODS, resource_path_of
from maar.kube.watch import Watch
from maar.kube.write import create, delete
from maar.kube.writers import Writers
from support.load import Gang, Made, priority_class, queue, remove
from support.until import until

PAUSE_S: Final = 0.05
MOST_WAITING: Final = 50  # writes; more are not asked for before these are done
RESERVED: Final = 0.1  # of the cluster, for each queue that has a reservation
CALM: Final = 0.75  # of the cluster, in equal parts: all queues may have that, and any pod here finds room
PRIORITIES: Final = {"low": 10, "high": 1_000}


@dataclass(frozen=True)
class Habits:
    """What people do: how much more than the cluster they ask for, how often, and in which queues."""

    queues: tuple[str, ...]
    crowding: float = 1.3  # of the cluster, asked for at a time
    pause_s: float = 0.1  # between one gang and the next, on average
    pods: tuple[int, ...] = (1, 2, 4, 8)
    cpus: tuple[int, ...] = (1, 2)


@dataclass(eq=False)
class Churn:
    """Gangs that are wanted now, and their pods as a watch tells of them."""

    server: ApiServer
    habits: Habits
    capacity_cpu: int
    rng: random.Random
    gangs: dict[str, Gang] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    made: int = 0
    evicted: int = 0
    _coming: list[asyncio.Task[None]] = field(default_factory=list)
    _owners: dict[str, Gang] = field(default_factory=dict)  # by the key of a pod

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """See what becomes of the pods; whoever comes and goes does so until the end of the block at most."""
        watch = Watch(self.server, Pod, self._hear, _ignore)
        async with Writers(16) as self._writers:
            following = asyncio.create_task(watch.run())
            try:
                await watch.synced()
                yield
            finally:
                for task in (*self._coming, following):
                    await _end(task)

    def begin(self) -> None:
        """Come and go from now on."""
        self._coming.append(asyncio.create_task(self._come_and_go()))

    async def calm_down(self) -> None:
        """Come and go no more, want no more than there is room for, and wait until all has its nodes."""
        while self._coming:
            await _end(self._coming.pop())
        for name in self.habits.queues:
            own = [gang for gang in self.gangs.values() if gang.queue == name]
            while _cpu(own) > CALM * self.capacity_cpu / len(self.habits.queues):
                self.withdraw(own.pop(self.rng.randrange(len(own))))
        await self.until_all_bound()

    async def fill(self) -> None:
        """Fill the cluster but for what is kept for the last queue, which then takes back its share."""
        *early, _ = self.habits.queues
        while self.asked_cpu < (1 - RESERVED) * self.capacity_cpu:
            queue_name = early[self.made % len(early)]
            self.submit(Gang(f"early-{self.made}", queue_name, pods=4, priority_class="low"))
        await self.until_all_bound()

    async def until_all_bound(self) -> None:
        """Wait until all that is wanted has its nodes."""
        await until(
            lambda: f"all have nodes; these have none: {self.waiting()[:20]}",
            lambda: not self.waiting() and not self._writers.waiting,
            PAUSE_S,
        )

    async def _come_and_go(self) -> None:
        while True:
            await asyncio.sleep(self.rng.uniform(0, 2 * self.habits.pause_s))
            if self._writers.waiting > MOST_WAITING:
                continue  # the server is away, or slow
            if self.asked_cpu < self.habits.crowding * self.capacity_cpu:
                self.submit(self._some_gang())
            else:
                self.withdraw(self.rng.choice(list(self.gangs.values())))

    @property
    def asked_cpu(self) -> int:
        """How many processors all gangs together ask for."""
        return _cpu(self.gangs.values())

    def submit(self, gang: Gang) -> None:
        """Want a gang from now on."""
        self.gangs[gang.name] = gang
        self.made += 1
        for made in gang.documents():
            self._owners[made[1]] = gang
            self._make(made)

    def withdraw(self, gang: Gang) -> None:
        """Want it no longer."""
        del self.gangs[gang.name]
        for key in gang.pod_keys:
            del self._owners[key]
            self._writers.submit(key, partial(delete, self.server, PODS, key), _ignore)
        group = partial(delete, self.server, resource_path_of(PodGroup), gang.key)
        self._writers.submit(gang.key, group, _ignore)

    def waiting(self) -> list[str]:
        """Pods that are wanted and have no node."""
        return [
            key
            for gang in self.gangs.values()
            for key in gang.pod_keys
            if (pod := self.pods.get(key)) is None or not pod.spec.node_name or pod.is_terminating
        ]

    def is_bound(self, gang: Gang) -> bool:
        """Whether all pods of a gang have their nodes."""
        return all((pod := self.pods.get(key)) is not None and pod.spec.node_name for key in gang.pod_keys)

    def has_bound(self, since: datetime) -> bool:
        """Whether a pod has its node that was made after a moment."""
        return any(
            pod.spec.node_name and (made := pod.metadata.creation_timestamp) is not None and made > since
            for pod in self.pods.values()
        )

    @property
    def bound_cpu(self) -> int:
        """How many processors the gangs have that have all their nodes."""
        return _cpu(filter(self.is_bound, self.gangs.values()))

    def half_bound(self) -> list[str]:
        """Gangs that have nodes for some of their pods only, at this moment."""
        with_node = Counter(
            gang.name
            for key, gang in self._owners.items()
            if (pod := self.pods.get(key)) and pod.spec.node_name
        )
        return [name for name, count in with_node.items() if count < self.gangs[name].pods]

    def _some_gang(self) -> Gang:
        habits, rng = self.habits, self.rng
        return Gang(
            f"gang-{self.made}",
            queue=rng.choice(habits.queues),
            pods=rng.choice(habits.pods),
            cpu=rng.choice(habits.cpus),
            priority_class=rng.choice(list(PRIORITIES)),
            grace_s=rng.choice((0, 1)),
        )

    def _hear(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Upserted):
                if isinstance(pod := event.object, Pod):
                    self.pods[pod.key] = pod
                    if pod.is_terminating:  # there are no kubelets here to say that it has ended
                        self._writers.submit(pod.key, partial(remove, self.server, pod), _ignore)
                continue
            gone = self.pods.pop(event.key)
            self.evicted += EVICTED_FOR_ANNOTATION in gone.metadata.annotations
            if (gang := self._owners.get(event.key)) is not None:
                self._make(gang.pod(event.key))

    def _make(self, made: Made) -> None:
        place, key, document = made
        self._writers.submit(key, partial(create, self.server, place, key, document), _ignore)


def reservations(capacity_cpu: int) -> Iterable[Made]:
    """Queues that lend and take back: a part is kept for each of two, and all share the rest."""
    own = {"guarantee": {"resource": {"cpu": str(int(RESERVED * capacity_cpu))}}}
    yield queue("research", **own)
    yield queue("production", **own)
    yield queue("guests")
    for name, value in PRIORITIES.items():
        yield priority_class(name, value)


def _cpu(gangs: Iterable[Gang]) -> int:
    return sum(gang.pods * gang.cpu for gang in gangs)


async def _end(task: asyncio.Task[None]) -> None:
    """End a task; where it has ended by itself, say with what."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _ignore(_: object) -> None:
    """What came too late has been made up for by what came after."""
