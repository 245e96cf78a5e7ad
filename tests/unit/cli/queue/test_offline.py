"""The queue commands without a cluster: files, wrong command lines, and clusters that are not there."""

import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from maar.cli.terminal import print_lines, width_of
from maar.core.answers.tree.answer import TreeView, queue_tree
from maar.core.answers.tree.text import tree_lines
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from support.commands import Run, run

__all__ = ["run"]

SMALL = ("-f", str(Path(__file__).parents[4] / "examples" / "small"))


def queue(name: str, parent: str = "") -> Queue:
    return Queue(metadata=QueueMetadata(name=name), spec=QueueSpec(parent=parent))


@pytest.fixture
def nowhere(tmp_path: Path) -> str:
    """A kubeconfig of a cluster that nobody runs."""
    file = tmp_path / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("command", ["tree", "explain"])
def test_a_queue_that_is_not_there_is_named_with_what_may_be_meant(command: str, run: Run) -> None:
    ended = run("maar", "queue", command, "trian", *SMALL)
    assert ended == (1, "", "error: queue trian does not exist; did you mean train?\n")
    ended = run("maar", "queue", command, "zzz", *SMALL)
    assert ended == (1, "", "error: queue zzz does not exist; maar queue list shows those that do\n")


def test_a_queue_that_is_set_aside_is_explained_with_what_ails_it(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "lost.yaml"
    header = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"
    file.write_text(f"{header}metadata: {{name: lost}}\nspec: {{parent: gone}}\n", encoding="utf-8")
    ended = run("maar", "queue", "explain", "lost", "-f", str(file))
    assert ended.code == 1
    assert "queue lost takes no part and deserves nothing: queue lost has a parent that does not" in ended.err


def test_files_that_cannot_be_read_are_refused_with_their_place(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("kind: [", encoding="utf-8")
    ended = run("maar", "queue", "tree", "-f", str(file))
    assert ended.code == 1
    assert f"error: {file}: not YAML" in ended.err


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("get",), "Missing argument"),
        (("create", "q", "--weight", "0"), "Input should be greater than or equal to 1"),
        (("create", "q", "--state", "Closing"), "'Closing' is not one of"),
        (("create", "q", "--capability", "cpu=2c"), "cpu: '2c' is not a quantity"),
        (("create", "q", "--preempt-min-runtime", "10x"), "'10x' is not a duration: write 30s"),
        (("update", "q"), "nothing is to be changed; say what, for example --weight 2"),
        (("operate", "q", "-a", "update"), "add --weight, or use maar queue update"),
        (("operate", "q", "-a", "dance"), "'dance' is not one of"),
        (("list", "-w", "-o", "json"), "use -o wide or -o name, or kubectl get queues -w -o json"),
        (("get", "q", "-w", "-o", "yaml"), "use -o wide or -o name, or kubectl get queues -w -o yaml"),
    ],
)
def test_a_wrong_command_line_leaves_with_2(command: tuple[str, ...], sentence: str, run: Run) -> None:
    ended = run("maar", "queue", *command)
    assert ended.code == 2
    assert sentence in ended.err


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("get",), "queue name must be specified; add -n NAME"),
        (("delete",), "queue name must be specified; add -n NAME"),
        (("operate", "-n", "q"), "action can not be null; add -a open, -a close or -a update"),
        (("operate", "-n", "q", "-a", "dance"), "action dance invalid, valid actions are open, close and"),
        (("operate", "-n", "q", "-a", "update"), "weight must be specified, the value must be greater than"),
        (("update", "-n", "q", "-w", "0"), "weight must be specified, the value must be greater than 0"),
    ],
)
def test_vcctl_refuses_in_volcanos_words(command: tuple[str, ...], sentence: str, run: Run) -> None:
    ended = run("vcctl", "queue", *command)
    assert ended.code == 1
    assert sentence in ended.err


def test_a_cluster_that_cannot_be_reached_is_told_of(
    nowhere: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maar.cli.cluster.client.RETRY_TIMEOUT_S", 0.1)
    for command in (("list",), ("tree",), ("explain", "root"), ("create", "q")):
        ended = run("maar", "queue", *command, "--kubeconfig", nowhere)
        assert ended.code == 1
        assert "https://127.0.0.1:1: cannot connect: connection refused" in ended.err
        assert "check that it runs and that the kubeconfig has its address" in ended.err
    ended = run("vcctl", "queue", "list", "-k", nowhere, "-s", "127.0.0.1:2")
    assert "https://127.0.0.1:2: cannot connect: connection refused" in ended.err


def test_a_cluster_that_is_not_configured_is_told_of(
    nowhere: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run("maar", "queue", "list", "--kubeconfig", nowhere, "--context", "d")
    assert ended.code == 1
    assert "there is no context d; choose one of c with --context" in ended.err
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    ended = run("maar", "queue", "list")
    assert ended.code == 1
    assert "start a cluster with maar up, or name a kubeconfig with --kubeconfig" in ended.err
    ended = run("maar", "queue", "list", "--kubeconfig", str(tmp_path / "none"))
    assert "none: there is no such file; name another with --kubeconfig or KUBECONFIG" in ended.err


def test_whoever_has_run_maar_up_is_told_where_its_kubeconfig_is(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    ours = tmp_path / "data/maar/kubeconfig"
    ours.parent.mkdir(parents=True)
    ours.write_text("{}")
    ended = run("maar", "queue", "list")
    assert ended.code == 1
    assert f"no cluster is configured; maar up has one: export KUBECONFIG={ours}" in ended.err


def print_tree(view: TreeView, console: Console) -> None:
    print_lines(console, tree_lines(view, width_of(console)))


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    view = queue_tree([queue("root"), queue("q")])
    assert view is not None
    drawn = {}
    for is_terminal in (True, False):
        page = io.StringIO()
        print_tree(view, Console(file=page, force_terminal=is_terminal))
        drawn[is_terminal] = page.getvalue()
    assert "\x1b[32mOpen" in drawn[True]
    assert "\x1b" not in drawn[False]


def test_a_tree_deeper_than_any_stack_is_arranged() -> None:
    chain = [queue("q0"), *(queue(f"q{depth}", f"q{depth - 1}") for depth in range(1, 3000))]
    view = queue_tree(chain)
    assert view is not None
    assert list(view.queues) == ["root", *(f"q{depth}" for depth in range(3000))]


def test_queues_that_are_their_own_ancestors_are_drawn_once() -> None:
    view = queue_tree([queue("a", "b"), queue("b", "a")], "a")
    assert view is not None
    assert list(view.queues) == ["a", "b"]
    page = io.StringIO()
    print_tree(view, Console(file=page))
    assert [line.split()[0] for line in page.getvalue().splitlines()[1:3]] == ["a", "└─"]
    whole = queue_tree([queue("a", "b"), queue("b", "a")])
    assert whole is not None
    assert whole.set_aside["a"].startswith("queues are their own ancestors (a -> b -> a)")
