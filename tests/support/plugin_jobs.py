"""Jobs as job plugins see them, and the pods of one as they are when all plugins have changed them."""

from copy import deepcopy
from typing import Any, Final

from maar.core.job_plugins.plugin import PluginJob, PluginTask, SshKey
from maar.core.job_plugins.registry import JobPlugins

Document = dict[str, Any]

KEY: Final = SshKey("private", "public")
PLUGINS: Final = JobPlugins.of()


def job(tasks: dict[str, int], template: Document | None = None, /, **plugins: list[str]) -> PluginJob:
    """A job j in namespace n; its tasks have one container, main, unless there is a template."""
    ordinary: Document = {"spec": {"containers": [{"name": "main", "image": "i"}]}}
    made = tuple(
        PluginTask(name, replicas, deepcopy(template or ordinary)) for name, replicas in tasks.items()
    )
    return PluginJob("j", "n", made, {name: tuple(arguments) for name, arguments in plugins.items()})


def pod(made_for: PluginJob, task: str, index: int = 0, plugins: JobPlugins = PLUGINS) -> Document:
    """The document of a pod as it is created."""
    found = made_for.task(task)
    assert found is not None
    document = deepcopy(found.template)
    document["metadata"] = {"name": f"{made_for.name}-{task}-{index}"}
    plugins.change_pod(document, made_for, found, index)
    return document


def variables(document: Document, kind: str = "containers") -> dict[str, object]:
    """The environment of the first container: values, or the keys that they come from."""
    return {
        one["name"]: one["value"] if "value" in one else one["valueFrom"]["configMapKeyRef"]["key"]
        for one in document["spec"][kind][0].get("env", [])
    }


def objects(made_for: PluginJob) -> dict[tuple[str, str], tuple[Document, Document | None]]:
    """What is created and what is patched, by kind and name."""
    return {
        (str(one.document["kind"]), str(one.document["metadata"]["name"])): (one.document, one.update)  # type: ignore[index]  # every document has metadata, or the test says so
        for one in PLUGINS.objects(made_for, lambda: KEY)
    }
