"""A job of one task from flags, as `maar job run`, `vcctl job run` and `vsub` make it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from maar.cli.tables import Document
from maar.core.model.job import Job

NAME_LABEL: Final = "job.volcano.sh"  # on the pods, as Volcano's commands write it


@dataclass(frozen=True)
class PlainJob:
    """What flags say of a job."""

    name: str
    namespace: str
    image: str
    replicas: int = 1
    minimum: int = 1
    requests: Mapping[str, str | None] | None = None
    limits: Mapping[str, str | None] | None = None
    queue: str = ""
    scheduler: str = ""
    command: Sequence[str] = ()

    def document(self) -> Document:
        """The job, without what admission fills in."""
        resources = {"requests": self.requests, "limits": self.limits}
        container: Document = {
            "name": self.name,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "resources": {name: dict(amounts) for name, amounts in resources.items() if amounts},
        }
        if self.command:
            container["command"] = list(self.command)
        task: Document = {
            "name": self.name,
            "replicas": self.replicas,
            "template": {
                "metadata": {"name": self.name, "labels": {NAME_LABEL: self.name}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        }
        spec: Document = {"minAvailable": self.minimum, "tasks": [task]}
        if self.queue:
            spec["queue"] = self.queue
        if self.scheduler:
            spec["schedulerName"] = self.scheduler
        return {
            "apiVersion": Job.api_version,
            "kind": "Job",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }
