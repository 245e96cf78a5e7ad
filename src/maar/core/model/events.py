"""What has happened in the cluster, in the past tense: all that the engine ever learns."""

from typing import Final, get_args

from maar.core.model.cron_job import CronJob
from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.job import Command, Job
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.model.metadata import Record
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim, StorageClass
from maar.core.model.workload import BatchJob, DaemonSet, ReplicaSet, StatefulSet

AnyObject = (
    Queue | PodGroup | Job | Command | CronJob | JobTemplate | JobFlow
    | Pod | Node | Namespace | PriorityClass | ResourceQuota | PodDisruptionBudget
    | PersistentVolumeClaim | PersistentVolume | StorageClass
    | ReplicaSet | StatefulSet | DaemonSet | BatchJob
)  # fmt: skip
ALL_KINDS: Final[tuple[type[AnyObject], ...]] = get_args(AnyObject)


class Upserted(Record, frozen=True, tag=True, tag_field="event"):
    """An object is there, new or changed; the object is as it is now."""

    object: AnyObject


class Deleted(Record, frozen=True, tag=True, tag_field="event"):
    """An object is gone."""

    kind: str
    key: str


Event = Upserted | Deleted
