"""Plugins fail on no arguments and no templates of a job, and what they add is there once."""

from collections import Counter
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from maar.core.job_plugins.plugin import PluginJob, PluginTask
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.kinds import to_json
from properties.how_many import cases
from support.plugin_jobs import KEY

PLUGINS = JobPlugins.of()
NAMES = ("master", "worker", "ps", "head", "a-b")
FLAGS = tuple(
    sorted({one.name for plugin in PLUGINS.by_name.values() for one in getattr(plugin, "flags").known})  # noqa: B009  only Maar's own have flags
)
UNIQUE = {"env": "name", "ports": "name", "volumeMounts": "mountPath"}

texts = st.text(max_size=6)
values = st.one_of(st.sampled_from(("", "true", "0", "22", "99999", "/x", *NAMES)), texts)
arguments = st.one_of(
    st.builds("{}{}={}".format, st.sampled_from(("-", "--", "---", "")), st.sampled_from(FLAGS), values),
    st.builds("--{}".format, st.sampled_from((*FLAGS, ""))),
    values,
)
junk = st.one_of(st.none(), texts, st.integers(0, 3), st.lists(texts, max_size=2))
entries = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(("VC_TASK_INDEX", "RANK", "mpijob-port", "j-svc", "j-ssh")),
        "value": texts,
        "containerPort": st.sampled_from((22, 2222)),
        "mountPath": st.sampled_from(("/etc/volcano", "/root/.ssh")),
    },
)
lists = st.one_of(st.lists(st.one_of(entries, junk), max_size=3), junk)
containers = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(NAMES), "command": junk, **dict.fromkeys(UNIQUE, lists)}
)
pods = st.one_of(
    junk,
    st.fixed_dictionaries(
        {},
        optional={
            "containers": st.one_of(st.lists(st.one_of(containers, junk), max_size=2), junk),
            "initContainers": st.one_of(st.lists(containers, max_size=2), junk),
            "volumes": lists,
            "hostname": junk,
            "subdomain": junk,
        },
    ),
)
tasks = st.builds(
    PluginTask,
    st.sampled_from(NAMES),
    st.integers(-1, 4),
    st.builds(lambda spec: {"metadata": {"labels": {}}, "spec": spec}, pods),
)
jobs = st.builds(
    PluginJob,
    st.sampled_from(("j", "a.b", "", "x" * 60)),
    st.just("n"),
    st.lists(tasks, min_size=1, max_size=4, unique_by=lambda one: one.name).map(tuple),
    st.dictionaries(st.sampled_from((*PLUGINS.names, "gone")), st.lists(arguments, max_size=4).map(tuple)),
)


@settings(max_examples=cases(500))
@given(jobs)
def test_plugins_fail_on_no_job(job: PluginJob) -> None:
    for _, sentence in (*PLUGINS.problems(job), *PLUGINS.warnings(job)):
        assert sentence
        assert not sentence.startswith("the job plugin "), sentence  # which says that one failed
    for one in PLUGINS.objects(job, lambda: KEY):
        to_json(one.document)
        to_json(one.update)
    for task in job.tasks:
        once = changed(job, task, deepcopy(task.template))
        assert changed(job, task, deepcopy(once)) == once, "nothing is added twice"
        to_json(once)
        check_unique(task.template.get("spec"), once["spec"])


@settings(max_examples=cases(100))
@given(jobs, st.randoms())
def test_the_order_in_a_job_changes_nothing(job: PluginJob, random: Any) -> None:  # noqa: ANN401  Hypothesis' own
    names = list(job.plugins)
    random.shuffle(names)
    other = PluginJob(job.name, job.namespace, job.tasks, {name: job.plugins[name] for name in names})
    assert PLUGINS.objects(job, lambda: KEY) == PLUGINS.objects(other, lambda: KEY)
    for task in job.tasks:
        assert changed(job, task, deepcopy(task.template)) == changed(other, task, deepcopy(task.template))


def changed(job: PluginJob, task: PluginTask, pod: dict[str, Any]) -> dict[str, Any]:
    PLUGINS.change_pod(pod, job, task, 1)
    return pod


def check_unique(before: object, after: object) -> None:
    """No name is there more often than in the template, where it was there at all."""
    for kind in ("containers", "initContainers"):
        old, new = (one.get(kind) if isinstance(one, dict) else None for one in (before, after))
        for number, container in enumerate(new if isinstance(new, list) else []):
            was = old[number] if isinstance(old, list) and number < len(old) else None
            for field, key in UNIQUE.items():
                had, has = (counted(one, field, key) for one in (was, container))
                assert all(count == max(1, had[name]) for name, count in has.items()), (field, has)


def counted(container: object, field: str, key: str) -> Counter[str]:
    found = container.get(field) if isinstance(container, dict) else None
    named = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return Counter(one[key] for one in named if isinstance(one.get(key), str))
