"""Workloads that make pods: what they say about their group, and which Deployment they are versions of."""

from dataclasses import dataclass, field
from typing import NamedTuple

from maar.core.controllers.group_template import Statements, controller_of, group_name, statements_of_owner
from maar.core.model.metadata import OwnerReference
from maar.core.model.workload import BatchJob, Workload


class Owner(NamedTuple):
    """What is kept of a workload."""

    uid: str
    group: str  # the key of the group that is made for its pods
    statements: Statements
    deployment: OwnerReference | None  # that it is a version of
    ended: int  # pods of a Job that are not tried again, those that are gone included


@dataclass(eq=False)
class Owners:
    """Workloads by kind and key, and by uid."""

    by_uid: dict[str, Owner] = field(default_factory=dict)
    _by_key: dict[tuple[str, str], Owner] = field(default_factory=dict)

    def __contains__(self, place: tuple[str, str]) -> bool:
        """Whether there is a workload of a kind and key."""
        return place in self._by_key

    def put(self, kind: str, key: str, new: Workload | None) -> tuple[Owner | None, Owner | None]:
        """Learn of a workload, None where it is gone; what was known of it, and what is."""
        before, after = self._by_key.pop((kind, key), None), None if new is None else _owner(new)
        if before is not None:
            self.by_uid.pop(before.uid, None)
        if after is not None:
            self._by_key[kind, key] = self.by_uid[after.uid] = after
        return before, after


def _owner(workload: Workload) -> Owner:
    metadata = workload.metadata
    above = controller_of(metadata)
    is_version = above is not None and (above.api_version, above.kind) == ("apps/v1", "Deployment")
    deployment = above if is_version else None
    group = group_name(deployment.uid if deployment is not None else metadata.uid)
    key = f"{metadata.namespace or 'default'}/{group}"
    ended = workload.ended if isinstance(workload, BatchJob) else 0
    return Owner(metadata.uid, key, statements_of_owner(metadata), deployment, ended)
