"""What makes an object a job's own."""

from maar.core.model.job import Job

Json = dict[str, object]


def owner_reference(job: Job) -> Json:
    """The reference by which an object is deleted with its job."""
    return {
        "apiVersion": Job.api_version,
        "kind": "Job",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": False,  # what would need a right of its own
    }
