"""`maar job suspend` and `resume` of Jobs of batch/v1 on API servers, as for the jobs of Volcano."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maar.core.model.workload import SUSPENDED_FOR_ANNOTATION, BatchJob
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import ResourcePath, resource_path_of
from maar.kube.write import create, delete
from support.commands import Run, run
from support.manifests import Json, body, make, there, unique

__all__ = ["run"]

pytestmark = pytest.mark.usefixtures("crds", "anyio_backend")
JOBS = resource_path_of(BatchJob)
CRONS = ResourcePath("batch/v1", "cronjobs", namespaced=True)
MARK = {SUSPENDED_FOR_ANNOTATION: "default/other"}


def on_server(work: Callable[[ApiServer], Any]) -> Any:  # noqa: ANN401  # plain data
    """Do something with a client of its own."""

    async def session() -> object:
        async with ApiServer(await load(None, None)) as server:
            return await work(server)

    return asyncio.run(session())


class Given:
    """Jobs without pods on the server under test, which are deleted afterwards."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, metadata: Json | None = None, **spec: object) -> str:
        name = unique("batch")
        self.names.append(name)
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
        made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **(metadata or {})}}
        made["spec"] = {"parallelism": 0, "template": template, **spec}
        on_server(lambda server: make(server, JOBS, "default", made))
        return name

    def stored(self, name: str) -> tuple[bool, dict[str, str]]:
        """Whether it is suspended, and the marks of Maar on it."""
        found = on_server(lambda server: there(server, JOBS, f"default/{name}"))
        notes = found["metadata"].get("annotations", {})
        return bool(found["spec"].get("suspend")), {one: notes[one] for one in MARK if one in notes}


@pytest.fixture
def given(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401  # a generator
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    made = Given()
    yield made
    for name in made.names:
        on_server(partial(delete, place=JOBS, key=f"default/{name}"))


def test_a_job_is_suspended_and_resumed(run: Run, given: Given) -> None:
    name = given()
    assert (
        run("maar", "job", "suspend", name, "--dry-run=server").out
        == f"job.batch/{name} suspended (server dry run)\n"
    )
    assert given.stored(name) == (False, {})
    assert run("maar", "job", "suspend", name).out == f"job.batch/{name} suspended\n"
    assert given.stored(name) == (True, {})
    assert run("maar", "job", "suspend", name).out == f"job.batch/{name} unchanged\n"
    assert run("maar", "job", "resume", name).out == f"job.batch/{name} resumed\n"
    assert given.stored(name) == (False, {})
    assert run("maar", "job", "resume", name).out == f"job.batch/{name} unchanged\n"


def test_one_that_maar_has_suspended_stays_so(run: Run, given: Given) -> None:
    name = given({"annotations": MARK}, suspend=True)
    assert run("maar", "job", "suspend", name).out == f"job.batch/{name} suspended\n"
    assert given.stored(name) == (True, {})


def test_one_that_maar_has_suspended_is_resumed_before_its_turn(run: Run, given: Given) -> None:
    name = given({"annotations": MARK}, suspend=True)
    assert run("maar", "job", "resume", name).out == f"job.batch/{name} resumed\n"
    assert given.stored(name) == (False, {})


def test_labels_choose_them_too(run: Run, given: Given) -> None:
    label = unique("team")
    batch = given({"labels": {"team": label}})
    assert run("maar", "job", "suspend", "-l", f"team={label}").out == f"job.batch/{batch} suspended\n"


@pytest.mark.parametrize(
    ("owner", "spec", "why"),
    [
        (
            {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "u"},
            {},
            "belongs to JobSet set, whose controller would undo that; JobSet set itself has to be suspended",
        ),
        (
            None,
            {"managedBy": "kueue.x-k8s.io/multikueue"},
            "is run by kueue.x-k8s.io/multikueue (spec.managedBy)",
        ),
    ],
)
def test_one_that_another_controller_decides_about_is_refused(
    run: Run, given: Given, owner: Json | None, spec: Json, why: str
) -> None:
    name = given({"ownerReferences": [{**owner, "controller": True}]} if owner else None, **spec)
    refused = run("maar", "job", "suspend", name)
    assert refused.code == 1
    assert f"job default/{name} of batch/v1 {why}" in refused.err
    assert given.stored(name) == (False, {})


def test_a_job_of_a_cron_job_is_its_own(run: Run, given: Given) -> None:
    name = unique("nightly")
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": {"template": template}}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec}
    made = on_server(lambda server: create(server, CRONS, f"default/{name}", cron))
    # The embedded server has no CronJobs of batch/v1; a real one collects Jobs whose owner is not there.
    uid = body(made)["metadata"]["uid"] if isinstance(made, Done) else "u"
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": name, "uid": uid, "controller": True}
    job = given({"ownerReferences": [owner]})
    assert run("maar", "job", "suspend", job).out == f"job.batch/{job} suspended\n"
    on_server(lambda server: delete(server, CRONS, f"default/{name}"))


def test_one_that_does_not_exist_is_said_so(run: Run, given: Given) -> None:
    assert not given.names
    refused = run("maar", "job", "suspend", "nobody")
    assert refused.code == 1
    assert refused.err.startswith("error: job default/nobody does not exist")
