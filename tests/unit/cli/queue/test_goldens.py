"""What the queue commands print, word for word; MAAR_GOLDEN=write writes it down anew."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
import yaml

from maar.cli.queue.rows import print_queues, read_queues
from maar.cli.tables import Document
from maar.cli.vcctl.columns import QUEUES
from support.commands import Run, run
from support.golden import GOLDEN, compare

__all__ = ["run"]

ROOT = Path(__file__).parents[4]
TOWN = "-f tests/golden/queue-town.yaml"
PAST_USE = "-f tests/golden/queue-past-use.yaml"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
LONG = "a-very-long-name-that-leaves-no-room-for-anything-else"


def rows() -> list[Document]:
    text = (GOLDEN / "queue-rows.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


@pytest.mark.parametrize(
    ("golden", "command"),
    [
        ("queue-tree-small.txt", "tree -f examples/small"),
        ("queue-tree-small-research.txt", "tree research --namespaces -f examples/small"),
        ("queue-tree-town.txt", f"tree --namespaces {TOWN}"),
        ("queue-tree-lost.txt", f"tree lost {TOWN}"),
        ("queue-tree-town-gpu.txt", f"tree --resource nvidia.com/gpu {TOWN}"),
        ("queue-tree-town-wide.txt", f"tree -o wide {TOWN}"),
        ("queue-tree-town.json", f"tree --namespaces -o json {TOWN}"),
        ("queue-tree-small-research.yaml", "tree research -o yaml -f examples/small"),
        ("queue-explain-root.txt", "explain root -f examples/small"),
        ("queue-explain-train.txt", "explain train -f examples/small"),
        ("queue-explain-notebooks.txt", "explain notebooks -f examples/small"),
        ("queue-explain-platform.txt", "explain platform -f examples/small"),
        ("queue-explain-office.txt", f"explain office {TOWN}"),
        ("queue-explain-default.txt", f"explain default {TOWN}"),
        ("queue-explain-long-name.txt", f"explain {LONG} {TOWN}"),
        ("queue-explain-train.json", "explain train -o json -f examples/small"),
        ("queue-explain-train.yaml", "explain train -o yaml -f examples/small"),
        ("queue-tree-past-use-wide.txt", f"tree -o wide {PAST_USE}"),
        ("queue-tree-past-use.json", f"tree --namespaces -o json {PAST_USE}"),
        ("queue-explain-past-use.txt", f"explain a {PAST_USE}"),
        ("queue-explain-past-use.json", f"explain a -o json {PAST_USE}"),
    ],
)
def test_trees_and_explanations(golden: str, command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ended = run("maar", "queue", *shlex.split(command))
    assert (ended.code, ended.err) == (0, "")
    compare(golden, ended.out)
    if golden.endswith(".txt") and "wide" not in golden:
        assert max(map(len, ended.out.splitlines())) <= 100


@pytest.mark.parametrize("output", [None, "wide"])
def test_rows_of_a_list(
    output: Literal["wide"] | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maar.cli.tables.time.time", lambda: NOON)
    print_queues(rows(), output, as_list=True)
    compare(f"queue-list{'-wide' if output else ''}.txt", capsys.readouterr().out)


def test_rows_in_volcanos_columns() -> None:
    compare("vcctl-queue-list.txt", QUEUES.table(read_queues(rows())) + "\n")
