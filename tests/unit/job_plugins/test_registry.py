"""All plugins together: flags, one order, third parties, and documents that a cluster takes."""

from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from maar.core.job_plugins.flags import Flags, port, switch, text
from maar.core.job_plugins.plugin import OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.registry import JobPluginError, JobPlugins
from support.embedded import opened
from support.plugin_jobs import KEY, PLUGINS, job, pod

FLAGS = Flags("p", (text("name", "n"), port("port", 1), switch("on", False), switch("off", True)))
ALL: dict[str, list[str]] = {name: [] for name in PLUGINS.names}
TASKS = {"master": 1, "worker": 2, "head": 1}


class Noted:
    """A third party's plugin, which writes its name down."""

    def __init__(self, name: str) -> None:
        self.name = name

    def problems(self, _job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Know no arguments."""
        yield from (f"{self.name} does not know {one}" for one in arguments)

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """Need none."""
        return []

    def change_pod(
        self, pod: dict[str, Any], _job: PluginJob, _task: PluginTask, _index: int, arguments: tuple[str, ...]
    ) -> None:
        """Write the name down."""
        if arguments:
            raise ValueError("no arguments, please")
        pod["metadata"].setdefault("noted", []).append(self.name)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((), ("n", 1, False, True)),
        (("-name=a", "--port=2", "-on"), ("a", 2, True, True)),
        (("-name", "a", "--port", "2", "--on=T", "-off=0"), ("a", 2, True, False)),
        (("--name=a=b", "-port=2", "-port=3"), ("a=b", 3, False, True)),
        (("--name", "--port"), ("--port", 1, False, True)),
    ],
)
def test_flags_are_read_as_go_reads_them(arguments: tuple[str, ...], values: tuple[object, ...]) -> None:
    read = FLAGS.read(arguments)
    assert tuple(read.values.values()) == values
    assert read.problems == ()
    assert FLAGS.read(arguments) is read, "the same arguments are read once"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--nam=a",), 'p has no flag "--nam"; its flags are --name, --port, --on, --off'),
        (("---name=a",), 'p has no flag "---name"; its flags are --name, --port, --on, --off'),
        (("--",), 'p has no flag "--"; its flags are --name, --port, --on, --off'),
        (("name=a",), 'p cannot read "name=a", which is no flag such as --name=value; its flags are --name'),
        (("-port=0",), 'p wants a port from 1 to 65535 for --port, and "0" is none; correct it'),
        (("-port=2²",), 'p wants a port from 1 to 65535 for --port, and "2²" is none; correct it'),
        (("-port",), 'p wants a port from 1 to 65535 for --port, and "" is none; correct it'),
        (("-on=maybe",), 'p wants true or false for --on, and "maybe" is none; correct it'),
    ],
)
def test_what_cannot_be_read_is_a_problem_and_the_rest_is_read(
    arguments: tuple[str, ...], problem: str
) -> None:
    read = FLAGS.read(("--off=false", *arguments, "--name=after") if arguments != ("-port",) else arguments)
    (found,) = read.problems
    assert found.startswith(problem)
    assert read.number("port") == 1
    if arguments != ("-port",):
        assert (read.text("name"), read.is_on("off")) == ("after", False)


def test_the_order_in_a_job_changes_nothing() -> None:
    first = None
    for some in permutations(("hcclrank", "pytorch", "svc", "env")):
        document = pod(job(TASKS, **{name: [] for name in some}), "worker", 1)
        first = first or document
        assert document == first
    assert PLUGINS.names == ("svc", "ssh", "env", "pytorch", "tensorflow", "mpi", "ray", "hcclrank")


def test_third_parties_come_last_by_name_and_replace_nothing() -> None:
    plugins = JobPlugins.of([Noted("z"), Noted("a"), Noted("svc")])
    assert plugins.names == (*PLUGINS.names, "a", "z")
    assert plugins.get("svc") is PLUGINS.get("svc")
    assert plugins.get("nowhere") is None
    noted = job(TASKS, z=[], svc=[], a=[], gone=[])
    assert pod(noted, "head", plugins=plugins)["metadata"]["noted"] == ["a", "z"]
    assert plugins.missing(noted) == ["gone"]


def test_a_third_partys_plugin_that_fails_is_named() -> None:
    plugins = JobPlugins.of([Noted("a")])
    with pytest.raises(JobPluginError, match="the job plugin a failed: no arguments, please; correct"):
        pod(job(TASKS, a=["--x"]), "head", plugins=plugins)
    assert list(plugins.problems(job(TASKS, a=["--x"]))) == [("a", "a does not know --x")]


class Foreign(Noted):
    """A plugin that makes what the controller cannot create, and renames pods."""

    def objects(
        self, _job: PluginJob, _arguments: tuple[str, ...], _new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """Make something else."""
        return [OwnedObject({"kind": "Deployment", "metadata": {"name": "x"}}, None)]

    def change_pod(
        self,
        pod: dict[str, Any],
        _job: PluginJob,
        _task: PluginTask,
        _index: int,
        _arguments: tuple[str, ...],
    ) -> None:
        """Rename the pod."""
        pod["metadata"]["name"] = "another"


def test_a_third_partys_plugin_that_goes_too_far_harms_only_its_job() -> None:
    plugins, theirs = JobPlugins.of([Foreign("a")]), job(TASKS, a=[])
    with pytest.raises(JobPluginError, match="the job plugin a failed: its objects have a name and are of"):
        plugins.objects(theirs, lambda: KEY)
    with pytest.raises(JobPluginError, match="the job plugin a failed: it changed the name of a pod"):
        pod(theirs, "head", plugins=plugins)


def test_the_status_lists_all_plugins_but_hcclrank() -> None:
    found = PLUGINS.controlled(job(TASKS, hcclrank=[], svc=[], ssh=[], gone=[]))
    assert found == {"plugin-svc": "svc", "plugin-ssh": "ssh"}


def test_a_cluster_takes_what_all_plugins_make(tmp_path: Path) -> None:
    everything = job(TASKS, **ALL)
    kinds = {
        "Service": "services",
        "ConfigMap": "configmaps",
        "Secret": "secrets",
        "NetworkPolicy": "networkpolicies.networking.k8s.io",
    }
    with opened(tmp_path) as cluster:
        for one in PLUGINS.objects(everything, lambda: KEY):
            cluster.cluster.create(kinds[str(one.document["kind"])], "default", dict(one.document))
        for task in TASKS:
            cluster.cluster.create("pods", "default", pod(everything, task))
