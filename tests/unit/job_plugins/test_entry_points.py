"""Third parties' job plugins: what is installed is found, and a broken one harms only its jobs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from maar.apps.plugins import JOB_GROUP, find_job_plugins
from maar.core.admission.cluster import KnownCluster
from maar.core.admission.request import CREATE, Options, Request
from maar.core.admission.review import review
from maar.core.job_plugins.registry import JobPluginError, JobPlugins
from support.plugin_jobs import job, pod, variables

DOCS = Path(__file__).parents[3] / "docs"
MODULE = """
class Bare:
    name = "bare"

class Other:
    name = "another"

def leaving():
    raise SystemExit("no licence")
"""
ENTRY_POINTS = """
[{group}]
bare = maar_bare:Bare
other = maar_bare:Other
leaving = maar_bare:leaving
lost = maar_nowhere:Lost
svc = maar_bare:Bare
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python looks into for distributions, and forgets again."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for module in ("maar_bare", "maar_job_jax"):
        sys.modules.pop(module, None)


def installed(folder: Path, name: str, entry_points: str) -> None:
    """What an installed distribution leaves beside its modules."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def refusals(plugins: JobPlugins, name: str) -> list[str]:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"plugins": {name: []}, "tasks": [{"name": "t", "replicas": 1, "template": template}]}
    document = {"metadata": {"name": "j"}, "spec": spec}
    request = Request(operation=CREATE, resource="jobs", namespace="default", name="j", new=document)
    return [str(one) for one in review(request, KnownCluster(), Options(job_plugins=plugins)).refusals]


def test_where_nothing_is_installed_there_are_maars_own() -> None:
    assert find_job_plugins() == JobPlugins.of()


def test_the_example_of_the_page_is_found_and_changes_pods(folder: Path) -> None:
    example = DOCS / "examples" / "maar-job-jax"
    copytree(example, folder, dirs_exist_ok=True)
    project = (example / "pyproject.toml").read_text(encoding="utf-8")
    assert f'[project.entry-points."{JOB_GROUP}"]\njax = "maar_job_jax:Jax"' in project
    installed(folder, "maar_job_jax", f"[{JOB_GROUP}]\njax = maar_job_jax:Jax\n")
    page = (DOCS / "plugins.md").read_text(encoding="utf-8")
    module = (example / "maar_job_jax.py").read_text(encoding="utf-8")
    shown = page.split("## Job plugins")[1].split("```python\n")[1].split("```")[0]
    assert all(line in module for line in shown.splitlines()), "the page shows the module, without docstrings"

    plugins = find_job_plugins()
    training = job({"a": 2, "b": 2}, svc=["--inject-hosts-env=false"], jax=[])
    assert variables(pod(training, "b", 1, plugins)) == {
        "JAX_COORDINATOR_ADDRESS": "j-a-0.j:1234",
        "JAX_NUM_PROCESSES": "4",
        "JAX_PROCESS_ID": "3",
    }
    (found,) = refusals(plugins, "jax")
    assert found.startswith(
        "[job-plugin-argument] spec.plugins.jax does not fit: jax needs the names that svc"
    )


def test_jobs_that_name_a_broken_plugin_are_refused_with_the_reason(folder: Path) -> None:
    (folder / "maar_bare.py").write_text(MODULE, encoding="utf-8")
    installed(folder, "maar_bare", ENTRY_POINTS.format(group=JOB_GROUP))
    plugins = find_job_plugins()
    assert plugins.names == (*JobPlugins.of().names, "bare", "leaving", "lost", "other")
    reasons = {
        "bare": "it has no method problems, objects, change_pod",
        "leaving": "SystemExit: no licence",
        "lost": "ModuleNotFoundError: No module named 'maar_nowhere'",
        "other": "its own name is 'another', and must be that of its entry point",
    }
    for name, reason in reasons.items():
        (found,) = refusals(plugins, name)
        assert f"{name} is installed and cannot be used: {reason}; reinstall it or do without" in found
        with pytest.raises(JobPluginError, match=name):
            pod(job({"t": 1}, **{name: []}), "t", plugins=plugins)
    assert refusals(plugins, "svc") == refusals(plugins, "env") == []


def test_a_name_that_two_distributions_provide_is_nobodys(folder: Path) -> None:
    for name in ("maar_one", "maar_two"):
        installed(folder, name, f"[{JOB_GROUP}]\njax = {name}:Jax\n")
    (found,) = refusals(find_job_plugins(), "jax")
    assert (
        "more than one distribution provides it: maar_one:Jax, maar_two:Jax; uninstall all but one" in found
    )
