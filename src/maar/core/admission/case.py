"""One case before the rules: the request, what is known of the cluster, and the options."""

from collections.abc import Iterable
from dataclasses import dataclass

from maar.core.admission.cluster import KnownCluster, KnownJob
from maar.core.admission.plain import at, list_at, map_at, text_at
from maar.core.admission.request import CREATE, UPDATE, Options, Request
from maar.core.model.job import Job


@dataclass(frozen=True)
class Case:
    """What every rule may read; objects are plain values that have not been checked."""

    request: Request
    known: KnownCluster
    options: Options

    @property
    def new(self) -> object:
        """The object as it would be stored."""
        return self.request.new

    @property
    def old(self) -> object:
        """The object as it is stored."""
        return self.request.old

    @property
    def name(self) -> str:
        """The object's name; in a deletion of a collection only the object has it."""
        return (
            text_at(self.new, "metadata", "name")
            or text_at(self.old, "metadata", "name")
            or self.request.name
        )

    @property
    def namespace(self) -> str:
        """The object's namespace."""
        return self.request.namespace or text_at(self.new, "metadata", "namespace") or "default"

    @property
    def is_by_maar(self) -> bool:
        """Whether the request is from Maar's own controllers."""
        return self.request.user == self.options.controllers_user

    @property
    def is_leaving(self) -> bool:
        """Whether the object is being deleted already: what is left is letting go of it."""
        stored = self.old if self.request.operation != CREATE else None
        return at(stored, "metadata", "deletionTimestamp") is not None

    @property
    def has_new_spec(self) -> bool:
        """Whether anything but metadata and status is written."""
        return self.request.operation != UPDATE or at(self.old, "spec") != at(self.new, "spec")

    def has_new_annotation(self, names: Iterable[str]) -> bool:
        """Whether one of these annotations changes."""
        before, after = (map_at(one, "metadata", "annotations") for one in (self.old, self.new))
        return any(before.get(name) != after.get(name) for name in names)

    def owning_job(self) -> KnownJob | None:
        """The job that the object belongs to, where there is such a job."""
        for owner in list_at(self.new, "metadata", "ownerReferences"):
            if text_at(owner, "kind") == Job.__name__ and text_at(owner, "apiVersion") == Job.api_version:
                job = self.known.job(f"{self.namespace}/{text_at(owner, 'name')}")
                if job is not None and job.uid == text_at(owner, "uid"):
                    return job
        return None
