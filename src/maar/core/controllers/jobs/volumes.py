"""The claims that all pods of a job mount: those that it names, and those that are made for it."""

import hashlib
from typing import Final, NamedTuple, cast

from maar.core.controllers.jobs.pods import owner_reference
from maar.core.model.job import Job, JobVolume

_Json = dict[str, object]

_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH: Final = 12


class MountedClaim(NamedTuple):
    """A claim, where it is mounted, and how it is made where it is not there."""

    name: str
    volume: str
    mount_path: str
    spec: _Json | None  # None: it must exist


def mounted_claims(job: Job) -> list[MountedClaim]:
    """The claims of a job in order. Names are the same at every look, so that none is made twice."""
    return [_mounted(job, number, volume) for number, volume in enumerate(job.spec.volumes)]


def claim_document(job: Job, claim: MountedClaim) -> _Json:
    """A claim that is made for the job."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim.name,
            "namespace": job.metadata.namespace or "default",
            "ownerReferences": [owner_reference(job)],
        },
        "spec": claim.spec or {},
    }


def mount(spec: _Json, claims: list[MountedClaim]) -> None:
    """Add the claims to the spec of a pod; a claim that it has already is not added twice."""
    volumes = cast(list[_Json], spec.setdefault("volumes", []))
    used = {
        cast(_Json, volume["persistentVolumeClaim"]).get("claimName")
        for volume in volumes
        if isinstance(volume.get("persistentVolumeClaim"), dict)
    }
    for claim in claims:
        if claim.name in used:
            continue
        used.add(claim.name)
        volumes.append({"name": claim.volume, "persistentVolumeClaim": {"claimName": claim.name}})
        for container in cast(list[_Json], spec.get("containers") or []):
            mounts = cast(list[_Json], container.setdefault("volumeMounts", []))
            mounts.append({"name": claim.volume, "mountPath": claim.mount_path})
    if not volumes:
        del spec["volumes"]


def _mounted(job: Job, number: int, volume: JobVolume) -> MountedClaim:
    letters = _derived(f"{job.metadata.uid}/{number}")
    name = volume.volume_claim_name or f"{job.metadata.name}-pvc-{letters}"
    return MountedClaim(name, f"{job.metadata.name}-{letters}", volume.mount_path, volume.volume_claim)


def _derived(text: str) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode()).digest())
    letters = ""
    while len(letters) < _LENGTH:
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return letters
