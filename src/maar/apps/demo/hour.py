"""The workload of the demo's hour: which team submits what and when; equal seeds give equal workloads."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.embedded.nodes.script import RUN_FOR

HOUR: Final = 60.0  # minutes

Json = dict[str, object]


@dataclass(frozen=True)
class Team:
    """The workload of a namespace: some groups at the start, then one every so many minutes."""

    queue: str
    namespace: str
    job: str
    since: float
    until: float
    every: float
    rush: int
    pods: tuple[int, int]  # from, to
    cpu: int  # of each pod
    minutes: tuple[float, float]  # from, to
    is_elastic: bool = False  # one pod is enough to start


@dataclass(frozen=True)
class Group:
    """A pod group and its pods, all alike."""

    minute: float
    queue: str
    namespace: str
    name: str
    pods: int
    least: int  # pods that start together or not at all
    cpu: int  # of each pod
    minutes: float  # that each pod runs

    @property
    def key(self) -> str:
        """Its key as objects have it."""
        return f"{self.namespace}/{self.name}"

    @property
    def cpus(self) -> int:
        """What all its pods ask for together."""
        return self.pods * self.cpu


TEAMS: Final = (  # sweeps and queries take whatever is there; the others ask for about what they deserve
    Team("language", "language", "llm", 0, 60, 14, 1, (4, 4), 2, (10, 15)),
    Team("language", "language", "sweep", 0, 60, 5, 5, (8, 12), 1, (8, 13), is_elastic=True),
    Team("vision", "vision-lab", "resnet", 0, 60, 10, 1, (3, 4), 1, (9, 14)),
    Team("vision", "vision-interns", "thesis", 0, 60, 10, 3, (4, 6), 1, (9, 14), is_elastic=True),
    Team("legacy", "legacy", "report", 0, 36, 5, 2, (1, 2), 2, (4, 7)),
    Team("legacy", "legacy", "archive", 33, 35, 5, 3, (2, 2), 1, (5, 8)),
    Team("notebooks", "notebooks", "jupyter", 2, 60, 4, 3, (1, 1), 1, (10, 16)),
    Team("ci", "ci", "build", 5, 60, 3, 2, (1, 3), 1, (4, 7)),
    Team("etl", "etl", "load", 7, 60, 5, 2, (2, 4), 1, (8, 12)),
    Team("analytics", "analytics", "query", 10, 60, 3.5, 3, (6, 10), 1, (9, 14), is_elastic=True),
    Team("billing", "billing", "invoice", 12, 22, 5, 1, (2, 2), 2, (4, 5)),
    Team("billing", "billing", "payroll", 46, 60, 5, 1, (2, 2), 2, (4, 5)),
)


def hour(seed: int, teams: tuple[Team, ...] = TEAMS) -> tuple[Group, ...]:
    """All groups of the hour, in the order in which they are submitted."""
    groups = [group for team in teams for group in _groups(team, Random(f"{seed} {team.job}"))]  # noqa: S311  a play
    return tuple(sorted(groups, key=lambda group: (group.minute, group.key)))


def _groups(team: Team, rng: Random) -> Iterator[Group]:
    minute, number = team.since, 0
    while minute < team.until:
        pods = rng.randint(*team.pods)
        yield Group(
            minute=round(minute, 2),
            queue=team.queue,
            namespace=team.namespace,
            name=f"{team.job}-{number}",
            pods=pods,
            least=1 if team.is_elastic else pods,
            cpu=team.cpu,
            minutes=round(rng.uniform(*team.minutes), 1),
        )
        number += 1
        if number >= team.rush:
            minute += team.every * rng.uniform(0.6, 1.4)


def pod_group_document(group: Group) -> Json:
    """The pod group as it is submitted."""
    least = {"cpu": str(group.least * group.cpu), "memory": f"{group.least * group.cpu}Gi"}
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {"name": group.name, "namespace": group.namespace},
        "spec": {"queue": group.queue, "minMember": group.least, "minResources": least},
    }


def pod_documents(group: Group, speed: float) -> dict[str, Json]:
    """Its pods by key; on virtual nodes they run for their minutes, at the speed of the simulation."""
    run_for = f"{round(group.minutes * 60_000 / speed)}ms"
    names = [f"{group.name}-{number}" for number in range(group.pods)]
    return {f"{group.namespace}/{name}": _pod(group, name, run_for) for name in names}


def _pod(group: Group, name: str, run_for: str) -> Json:
    requests = {"cpu": str(group.cpu), "memory": f"{group.cpu}Gi"}
    return {
        "apiVersion": Pod.api_version,
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": group.namespace,
            "annotations": {GROUP_ANNOTATION: group.name, RUN_FOR: run_for},
        },
        "spec": {
            "schedulerName": "volcano",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        },
    }
