"""Third parties' plugins: what is installed is found and asked, and a broken one harms only itself."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import typer
import yaml

from maar.apps.plugins import find_plugins
from maar.cli.failure import run
from maar.core.policy.configuration import DEFAULT, BadConfigurationError, Configuration, parse
from maar.core.policy.grammar import ACTIONS, PLUGINS
from maar.core.policy.plugin_hooks import Filter, GroupView, NodeView, PluginHooks, PodView, Score
from support.planning import plan
from support.scenario import read

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"

[project.entry-points."maar.plugins"]
{entry_points}

[tool.hatch.build.targets.wheel]
only-include = ["{module}.py"]
"""
RACKS = '''
"""Keeps pods in the racks that the arguments name."""

from maar.plugins import PluginHooks


def racks(arguments):
    names = [name.strip() for name in arguments["racks"].split(",")]
    return PluginHooks(filter=lambda pod, node: node.labels.get("rack") in names)
'''
BROKEN = 'raise RuntimeError("no GPU library here")\n'
ENTRY_POINTS = """
racks = "maar_racks:racks"
no-module = "maar_nowhere:racks"
no-function = "maar_racks:shelves"
"""

POD = PodView("a/p", "a", 0, {}, "a/g", {"cpu": 1000})
NODE = NodeView("n", {}, {"cpu": 4000})
GROUP = GroupView("a/g", "a", "default", 0, 0.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for distributions that Python looks into, and forgets again."""
    installed = tmp_path / "installed"
    installed.mkdir()
    monkeypatch.syspath_prepend(installed)
    yield installed
    for module in ("maar_racks", "maar_broken", "maar_shelves"):
        sys.modules.pop(module, None)


def install(folder: Path, module: str, source: str, entry_points: str) -> None:
    """Build a distribution with one module and install it into the folder, as pip does."""
    project = folder.parent / module
    project.mkdir()
    (project / f"{module}.py").write_text(source, encoding="utf-8")
    name = module.replace("_", "-")
    text = PROJECT.format(name=name, module=module, entry_points=entry_points)
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    pip_install(folder, project)


def pip_install(folder: Path, project: Path) -> None:
    """Install a distribution into the folder, without any registry."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    command += ["--disable-pip-version-check", "--target", str(folder), str(project)]
    subprocess.run(command, check=True, capture_output=True, text=True)


def filters(configuration: Configuration) -> tuple[Filter, ...]:
    return tuple(one.filter for one in configuration.node_hooks if one.filter is not None)


def scores(configuration: Configuration) -> tuple[Score, ...]:
    return tuple(one.score for one in configuration.node_hooks if one.score is not None)


def configured(name: str, **arguments: object) -> dict[str, object]:
    return {"tiers": [{"plugins": [{"name": "gang"}, {"name": name, "arguments": arguments}]}]}


def test_where_nothing_is_installed_nothing_is_found() -> None:
    assert find_plugins() == {}


def test_an_installed_plugin_is_found_and_filters(folder: Path) -> None:
    install(folder, "maar_racks", RACKS, ENTRY_POINTS)
    assert (folder / "maar_racks-1.0.dist-info/entry_points.txt").is_file()
    plugins = find_plugins()
    assert sorted(plugins) == ["no-function", "no-module", "racks"]

    configuration = parse(configured("racks", racks="r1, r2"), plugins)
    (choice,) = filters(configuration)
    pod = PodView("a/p", "a", 0, {}, "a/g", {"cpu": 1000})
    assert [choice(pod, NodeView(rack, {"rack": rack}, {})) for rack in ("r1", "r2", "r3")] == [
        True,
        True,
        False,
    ]

    assert parse(None, plugins) == DEFAULT
    failures = {
        "racks": "KeyError: 'racks'",
        "no-module": "ModuleNotFoundError: No module named 'maar_nowhere'",
        "no-function": "AttributeError: module 'maar_racks' has no attribute 'shelves'",
    }
    for name, failure in failures.items():
        with pytest.raises(BadConfigurationError) as caught:
            parse(configured(name), plugins)
        assert caught.value.problems == (f"tiers[0].plugins[1]: the plugin {name} cannot be made: {failure}",)


def test_a_plugin_that_cannot_be_imported_harms_only_itself(folder: Path) -> None:
    install(folder, "maar_racks", RACKS, 'racks = "maar_racks:racks"')
    install(folder, "maar_broken", BROKEN, 'broken = "maar_broken:make"')
    plugins = find_plugins()
    assert parse(configured("racks", racks="r1"), plugins).warnings == ()
    with pytest.raises(BadConfigurationError) as caught:
        parse(configured("broken"), plugins)
    assert caught.value.problems == (
        "tiers[0].plugins[1]: the plugin broken cannot be made: RuntimeError: no GPU library here",
    )


def test_a_name_that_two_distributions_provide_is_nobodys(folder: Path) -> None:
    install(folder, "maar_racks", RACKS, 'racks = "maar_racks:racks"')
    install(folder, "maar_shelves", RACKS, 'racks = "maar_shelves:racks"')
    with pytest.raises(BadConfigurationError) as caught:
        parse(configured("racks", racks="r1"), find_plugins())
    (problem,) = caught.value.problems
    assert problem.startswith(
        "tiers[0].plugins[1]: the plugin racks cannot be made: ImportError: more than one"
    )
    assert "maar_racks:racks, maar_shelves:racks" in problem


def silent(_: Mapping[str, object]) -> PluginHooks:
    return PluginHooks()


def outspoken(arguments: Mapping[str, object]) -> PluginHooks:
    """A plugin with every opinion, which says its arguments back."""
    word = str(arguments.get("word", "nothing"))
    return PluginHooks(
        filter=lambda pod, node: (pod, node) != (POD, NODE),
        score=lambda _pod, _node: 0.5,
        job_order=lambda group: (group.priority, word),
        veto=lambda _, action: action == "reclaim",
    )


def test_a_third_partys_plugin_is_made_with_its_arguments_as_they_were_written() -> None:
    document: Any = {"tiers": [{"plugins": [{"name": "mine", "arguments": {"word": "7"}}, {"name": "gang"}]}]}
    configuration = parse(document, {"mine": outspoken})
    assert configuration.plugins[0].arguments == {"word": "7"}
    assert [one(POD, NODE) for one in filters(configuration)] == [False]
    assert [one(POD, NODE) for one in scores(configuration)] == [0.5]
    assert [one(GROUP) for one in configuration.job_orders] == [(0, "7")]
    assert [one(POD, "reclaim") for one in configuration.vetoes["reclaim"]] == [True]
    assert [one(POD, "preempt") for one in configuration.vetoes["preempt"]] == [False]
    assert configuration == parse(document, {"mine": outspoken})


@pytest.mark.parametrize(
    ("switch", "silenced"),
    [
        ("enablePredicate", (0, 1, 1, 1, 1)),
        ("enableNodeOrder", (1, 0, 1, 1, 1)),
        ("enableJobOrder", (1, 1, 0, 1, 1)),
        ("enablePreemptable", (1, 1, 1, 0, 1)),
        ("enableReclaimable", (1, 1, 1, 1, 0)),
    ],
)
def test_a_switch_silences_a_third_partys_opinion(switch: str, silenced: tuple[int, ...]) -> None:
    document = {"tiers": [{"plugins": [{"name": "mine", switch: False}]}]}
    configuration = parse(document, {"mine": outspoken})
    asked = (
        filters(configuration),
        scores(configuration),
        configuration.job_orders,
        configuration.vetoes["preempt"],
        configuration.vetoes["reclaim"],
    )
    assert tuple(len(one) for one in asked) == silenced
    assert configuration.warnings == ()


def test_a_plugin_without_hooks_is_never_called() -> None:
    configuration = parse({"tiers": [{"plugins": [{"name": "mine"}]}]}, {"mine": silent})
    assert (filters(configuration), scores(configuration), configuration.job_orders) == ((), (), ())
    assert configuration.vetoes["preempt"] == configuration.vetoes["reclaim"] == ()


def test_a_plugin_that_is_not_configured_is_not_made() -> None:
    assert parse(None, {"broken": broken}) == DEFAULT


def broken(arguments: Mapping[str, object]) -> PluginHooks:
    raise RuntimeError(f"no licence for {len(arguments)} arguments")


def leaving(_: Mapping[str, object]) -> PluginHooks:
    raise SystemExit(3)


def mute(_: Mapping[str, object]) -> Any:  # noqa: ANN401 (a plugin that breaks its promise)
    return None


def wordy(_: Mapping[str, object]) -> PluginHooks:
    word: Any = "yes"
    return PluginHooks(filter=word)


@pytest.mark.parametrize(
    ("factory", "problem"),
    [
        (broken, "the plugin mine cannot be made: RuntimeError: no licence for 1 arguments"),
        (leaving, "the plugin mine cannot be made: SystemExit: 3"),
        (mute, "the plugin mine returns NoneType where it must return PluginHooks"),
        (
            wordy,
            "the plugin mine cannot be made: TypeError: filter is 'yes'; it must be a callable or None",
        ),
    ],
)
def test_a_plugin_that_fails_is_a_problem_and_no_crash(factory: Any, problem: str) -> None:  # noqa: ANN401
    document = {"actions": "elect", "tiers": [{"plugins": [{"name": "mine", "arguments": {"a": 1}}]}]}
    with pytest.raises(BadConfigurationError) as caught:
        parse(document, {"mine": factory})
    assert caught.value.problems == (
        f"actions: unknown action 'elect'. Supported: {', '.join(ACTIONS)}",
        f"tiers[0].plugins[0]: {problem}",
    )


def test_what_a_third_party_provides_is_listed_as_supported() -> None:
    with pytest.raises(BadConfigurationError) as caught:
        parse({"tiers": [{"plugins": [{"name": "mien"}]}]}, {"mine": silent})
    (problem,) = caught.value.problems
    assert problem.startswith("tiers[0].plugins[0].name: unknown plugin 'mien': did you mean mine? ")
    assert problem.endswith(f"Supported: {', '.join(PLUGINS)}, mine")


def test_a_third_party_cannot_take_the_name_of_a_plugin_of_maar() -> None:
    configuration = parse(None, {"gang": broken})
    assert configuration.plugins == DEFAULT.plugins
    assert configuration.warnings == (
        "a third party's plugin gang is not used: Maar has its own of that name",
    )


def test_a_document_that_changes_later_changes_nothing() -> None:
    document: Any = {"tiers": [{"plugins": [{"name": "mine", "arguments": {"word": "a"}}]}]}
    configuration = parse(document, {"mine": outspoken})
    document["tiers"][0]["plugins"][0]["arguments"]["word"] = "b"
    assert configuration.plugins[0].arguments == {"word": "a"}


EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "maar-gpu-packing"
USUAL_TIERS = [
    {"plugins": [{"name": name} for name in ("priority", "gang", "conformance")]},
    {"plugins": [{"name": name} for name in ("predicates", "proportion", "nodeorder", "binpack")]},
]
GPU_CLUSTER = """
nodes: {g: {count: 2, cpu: 8, nvidia.com/gpu: 4}}
queues: {a: {}}
running: {a/old: {cpu: 1, nvidia.com/gpu: 1, node: g1, namespace: red}}
pending:
  a/mine: {cpu: 1, nvidia.com/gpu: 1, namespace: red}
  a/yours: {cpu: 1, nvidia.com/gpu: 1, namespace: blue}
"""


def test_the_example_of_the_page_is_installed_and_decides(folder: Path) -> None:
    copy = folder.parent / "example"
    copytree(EXAMPLE, copy)
    pip_install(folder, copy)
    module = (EXAMPLE / "maar_gpu_packing.py").read_text(encoding="utf-8")
    page = (EXAMPLE.parents[1] / "plugins.md").read_text(encoding="utf-8")
    shown = page.split("```python\n")[1].split("```")[0]
    assert all(line in module for line in shown.splitlines()), "the page shows the module, without docstrings"
    tiers = [
        *USUAL_TIERS,
        {"plugins": [{"name": "gpu-packing", "arguments": {"weight": "900", "teams": "1"}}]},
    ]
    configuration = parse({"tiers": tiers}, find_plugins())
    text = {"title": "t", "rule": "4.plugins.1", **yaml.safe_load(GPU_CLUSTER), "expect": {"binds": {}}}
    scenario = read(text, "t")
    decided: Any = plan(scenario.cluster.objects(), configuration, now=scenario.now)["cycles"]
    assert decided[0]["binds"] == {"red/a-mine-0": "g1", "blue/a-yours-0": "g0"}
    sys.modules.pop("maar_gpu_packing", None)


def failing(arguments: Mapping[str, object]) -> PluginHooks:
    """A plugin whose hooks go wrong in the way that its arguments name."""
    hook, what = str(arguments["hook"]), str(arguments["what"])

    def go_wrong(*_: object) -> object:
        if what == "raise":
            raise ZeroDivisionError("division by zero")
        return float(what) if hook == "score" else (float(what),)

    hooks: dict[str, Any] = {"filter": lambda _pod, _node: True, hook: go_wrong}
    return PluginHooks(**hooks)


@pytest.mark.parametrize(
    ("hook", "what", "problem"),
    [
        ("concerns", "raise", "raised ZeroDivisionError: division by zero for {'cpu': 1000, 'pods': 1}"),
        ("filter", "raise", "raised ZeroDivisionError: division by zero for pod default/default-a-0, node n"),
        ("score", "raise", "raised ZeroDivisionError: division by zero for pod default/default-a-0, node n"),
        ("score", "nan", "returned nan, which is not a finite number, for pod default/default-a-0, node n"),
        ("score", "inf", "returned inf, which is not a finite number, for pod default/default-a-0, node n"),
        ("job_order", "nan", "returned a key with NaN, which has no order, for pod group default/"),
    ],
)
def test_a_hook_that_goes_wrong_is_named_with_its_plugin_and_is_no_bug_of_ours(
    hook: str,
    what: str,
    problem: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["maar"])
    jobs = {name: {"pods": 1, "cpu": 1} for name in ("default/a", "default/b")}
    scenario = read(
        {
            "title": "t",
            "rule": "4.plugins.1",
            "nodes": {"n": {"cpu": 4}},
            "pending": jobs,
            "expect": {"binds": {}},
        },
        "t",
    )
    configuration = parse(configured("mine", hook=hook, what=what), {"mine": failing})
    app = typer.Typer()
    app.command()(lambda: typer.echo(plan(scenario.cluster.objects(), configuration)))
    with pytest.raises(SystemExit) as left:
        run(app, "maar")
    assert left.value.code == 1
    shown = capsys.readouterr().err
    assert f"error: the plugin mine: its {hook} {problem}" in shown
    assert "correct the plugin, or remove it from the configuration" in shown
    assert "bug" not in shown
