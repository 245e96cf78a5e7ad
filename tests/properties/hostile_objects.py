"""Requests that nobody should send: good objects, spoilt ones, and plain nonsense."""

from collections.abc import Callable
from random import Random
from typing import Final

from maar.core.admission.request import CREATE, DELETE, UPDATE, Json, Request

USERS: Final = (
    "ana",
    "",
    "system:serviceaccount:maar-system:maar-controllers",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:resourcequota-controller",
)
_TEMPLATE: Final[dict[str, Json]] = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": 2}}}
        ],
        "affinity": {"nodeAffinity": {}},
        "tolerations": [{"key": "k", "operator": "Exists"}],
    },
}
_QUEUE: Final = {
    "parent": "q1", "weight": 3, "priority": 1, "state": "Open", "reclaimable": True,
    "capability": {"cpu": 6, "memory": "4Gi", "nvidia.com/gpu": "2"},
    "guarantee": {"resource": {"cpu": "500m"}, "percentage": {"memory": "12.5"}},
    "deserved": {"cpu": 1}, "dequeueStrategy": "fifo",
    "namespaceSelector": {
        "matchLabels": {"team": "a"},
        "matchExpressions": [{"key": "stage", "operator": "In", "values": ["test"]}],
    },
    "extendClusters": [{"name": "east", "capacity": {"cpu": 1}}],
}  # fmt: skip
_POLICIES: Final = [{"action": "RestartJob", "event": "PodFailed"}, {"action": "AbortJob", "exitCode": 3}]
_JOB: Final = {
    "queue": "q3", "minAvailable": 2, "maxRetry": 3, "plugins": {"env": [], "svc": ["--inject-hosts-env=0"]},
    "policies": _POLICIES, "ttlSecondsAfterFinished": 60, "minSuccess": 1,
    "volumes": [{"mountPath": "/data", "volumeClaimName": "d"}],
    "tasks": [
        {"name": "ps", "replicas": 1, "minAvailable": 1, "template": _TEMPLATE, "policies": _POLICIES},
        {"name": "worker", "replicas": 2, "template": _TEMPLATE, "dependsOn": {"name": ["ps"]}},
    ],
}  # fmt: skip
_CRON_JOB: Final = {
    "schedule": "*/5 1-3 * jan mon", "timeZone": "Europe/Paris", "startingDeadlineSeconds": 60,
    "concurrencyPolicy": "Forbid", "suspend": False, "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1, "jobTemplate": {"metadata": {"labels": {"app": "x"}}, "spec": _JOB},
}  # fmt: skip
_PROBE: Final = {"taskStatusList": [{"taskName": "ps", "phase": "Running"}]}
_FLOW: Final = {
    "jobRetainPolicy": "delete",
    "flows": [
        {"name": "a"},
        {"name": "b", "dependsOn": {"targets": ["a"], "probe": _PROBE}, "patch": {"spec": {"queue": "q3"}}},
    ],
}
_GROUP: Final = {
    "queue": "q3", "minMember": 2, "minTaskMember": {"ps": 1}, "minResources": {"cpu": 2, "memory": "1Gi"},
    "networkTopology": {"mode": "hard", "highestTierAllowed": 1}, "subGroupPolicy": [{"name": "s"}],
}  # fmt: skip
_OWNERS: Final = [
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
]
_NOTES: Final = {
    "scheduling.volcano.sh/queue-name": "q3", "scheduling.k8s.io/group-name": "g",
    "volcano.sh/jdb-min-available": "50%",
}  # fmt: skip
_METADATA: Final = {
    "name": "x",
    "namespace": "default",
    "labels": {"maar.sh/quota-of": "q3"},
    "annotations": _NOTES,
}
GOOD: Final[dict[str, Json]] = {
    "queues": {"kind": "Queue", "metadata": {"name": "q9"}, "spec": _QUEUE, "status": {"state": "Open"}},
    "jobs": {"kind": "Job", "metadata": _METADATA, "spec": _JOB},
    "podgroups": {"kind": "PodGroup", "metadata": {**_METADATA, "ownerReferences": _OWNERS}, "spec": _GROUP},
    "pods": {
        "kind": "Pod",
        "metadata": {**_METADATA, "ownerReferences": _OWNERS},
        "spec": {**_TEMPLATE["spec"], "schedulerName": "volcano"},
    },
    "commands": {"metadata": _METADATA, "action": "CloseQueue", "target": {"kind": "Queue", "name": "q3"}},
    "resourcequotas": {"metadata": _METADATA, "spec": {"hard": {"requests.cpu": 1}}},
    "cronjobs": {"kind": "CronJob", "metadata": _METADATA, "spec": _CRON_JOB},
    "jobtemplates": {"kind": "JobTemplate", "metadata": _METADATA, "spec": _JOB},
    "jobflows": {"kind": "JobFlow", "metadata": _METADATA, "spec": _FLOW},
}
_TEXTS: Final = (
    "", "root", "default", "q1", "q2", "q9", "Closed", "Closing", "2c", "-1", "1e9999", "9" * 5000, "100%",
    "\x00\x1b[31m", "line\nbreak", "ü" * 300, "\ud800", "a/b/c", "..", "x" * 100_000, "Queue", "volcano",
    "*", "0", "true", "null", "In", "12.5", "1Ki", "5m", "spec.queue", "[0]", "~1",
)  # fmt: skip
_WORDS: Final = (
    "", "root", "default", "q1", "q2", "q3", "q9", "gone", "Closed", "Closing", "-1", "9", "64Gi", "0.5",
    "120", "PodFailed", "PodLost", "RestartJob", "CloseQueue", "NotIn", "Exists", "ps", "volcano",
    "Bad_Name", "50%",
)  # fmt: skip
_PLAIN: Final = (
    None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**5000, 0.5, -0.0, 1e308,
    float("inf"), float("nan"),
)  # fmt: skip


class HostileObjects:
    """A source of requests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def request(self) -> Request:
        """One request; most objects are good ones with something bent or spoilt."""
        resource = self.rng.choice(list(GOOD))
        operation = self.rng.choice((CREATE, CREATE, CREATE, CREATE, UPDATE, UPDATE, DELETE))
        if self.rng.random() < 0.01:
            operation = self._text()
        old, new = (self._object(resource) for _ in range(2))
        if operation == UPDATE and self.rng.random() < 0.5:
            new = self.spoilt(old)
        return Request(
            operation=operation,
            resource=resource if self.rng.random() < 0.98 else self._text(),
            subresource=self.rng.choice(("",) * 20 + ("status", self._text())),
            namespace=self.rng.choice(("default", "default", "vision", "", self._text())),
            name=self.rng.choice(("x", "q1", "q2", "default", "root", "", self._text())),
            old=None if operation == CREATE else old,
            new=None if operation == DELETE else new,
            user=self.rng.choice(("ana", "ana", "ana", *USERS)),
        )

    def _object(self, resource: str) -> object:
        luck = self.rng.random()
        if luck < 0.05:
            return self._nonsense(self.rng.randrange(5))
        return self.bent(GOOD[resource])

    def bent(self, document: object) -> object:
        """A document with nothing, something or much wrong."""
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 3, 8))):
            is_gentle = self.rng.random() < 0.6
            document = self.at_random_place(document, self._other) if is_gentle else self.spoilt(document)
        return document

    def _other(self, value: object) -> object:
        """Something else of the same type, as people get it wrong."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self.rng.choice((-1, 0, 1, 2, 7, 65_536, 2**31))
        if isinstance(value, str):
            return self.rng.choice(_WORDS)
        if isinstance(value, list):
            return value * 2
        return self._with_less(value)

    def spoilt(self, document: object) -> object:
        """The object with something wrong at a random place."""
        spoil: Callable[[object], object] = self.rng.choice(
            (
                lambda _: self._nonsense(2),
                lambda _: self._text(),
                lambda _: self.rng.choice(_PLAIN),
                lambda value: [value] * self.rng.choice((1, 2, 70, 3000)),
                lambda value: {self._text(): value},
                lambda value: self._nested(value, self.rng.choice((3, 200, 5000))),
                self._with_more,
                self._with_less,
            )
        )
        return self.at_random_place(document, spoil)

    def at_random_place(self, value: object, spoil: Callable[[object], object]) -> object:
        """The value with one of its parts, or itself, spoilt."""
        if isinstance(value, dict) and value and self.rng.random() < 0.9:
            key = self.rng.choice(list(value))
            return {**value, key: self.at_random_place(value[key], spoil)}
        if isinstance(value, list) and value and self.rng.random() < 0.9:
            place = self.rng.randrange(len(value))
            return [*value[:place], self.at_random_place(value[place], spoil), *value[place + 1 :]]
        return spoil(value)

    def _with_more(self, value: object) -> object:
        if isinstance(value, dict):
            return {**value, **{self._text(): self._nonsense(1) for _ in range(self.rng.choice((1, 100)))}}
        return [value, self._nonsense(1)]

    def _with_less(self, value: object) -> object:
        if isinstance(value, dict) and value:
            gone = self.rng.choice(list(value))
            return {key: one for key, one in value.items() if key != gone}
        return None

    def _nonsense(self, depth: int) -> object:
        kind = self.rng.randrange(6) if depth else self.rng.randrange(2)
        if kind == 0:
            return self._text()
        if kind == 1:
            return self.rng.choice(_PLAIN)
        if kind == 2:
            return [self._nonsense(depth - 1) for _ in range(self.rng.randrange(4))]
        if kind == 3:
            return self._nested(1, self.rng.choice((10, 2000)))
        names = (*_TEXTS[:4], "spec", "metadata", "name", "tasks", "queue", "labels", "annotations")
        return {self.rng.choice(names): self._nonsense(depth - 1) for _ in range(self.rng.randrange(5))}

    def _nested(self, value: object, depth: int) -> object:
        for _ in range(depth):
            value = {"deeper": value} if self.rng.random() < 0.5 else [value]
        return value

    def value(self) -> object:
        """Anything."""
        return self._nonsense(3)

    def _text(self) -> str:
        return self.rng.choice(_TEXTS)
