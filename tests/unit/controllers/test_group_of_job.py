"""The group of a job asks for the pods that are still to run."""

from maar.core.controllers.jobs.group import wanted_group
from maar.core.model.job import Job
from maar.core.model.kinds import from_document


def test_pods_that_have_succeeded_and_are_gone_count_towards_the_minimum() -> None:
    def task(name: str, replicas: int, least: int) -> dict[str, object]:
        pod = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
        return {"name": name, "replicas": replicas, "minAvailable": least, "template": pod}

    spec = {"minAvailable": 5, "tasks": [task("ps", 1, 1), task("worker", 6, 4)]}
    document = {"kind": "Job", "metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": spec}
    whole = wanted_group(from_document(Job, document), (), {})
    assert (whole.min_member, whole.min_task_member) == (5, {"ps": 1, "worker": 4})
    for gone, least, workers, cpu in (("0-2", 2, 1, "2"), ("0-4", 0, 0, None)):
        status = {"completedIndexes": {"worker": gone}}
        wanted = wanted_group(from_document(Job, {**document, "status": status}), (), {})
        assert (wanted.min_member, wanted.min_task_member) == (least, {"ps": 1, "worker": workers})
        assert wanted.min_resources.quantities().get("requests.cpu") == cpu
