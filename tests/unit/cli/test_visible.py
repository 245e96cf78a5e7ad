"""Names and messages that would have a terminal do something: they are shown as text."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from rich.live import Live
from rich.text import Text

from maar.cli.terminal import Terminal
from maar.cli.visible import visible, visible_output
from support.commands import Run, run

__all__ = ["run"]

NAME: Final = "a\x1b[31mred\x1b]0;title\x07\x9b2J\u202e[bold]x"
SHOWN: Final = r"a\u001b[31mred\u001b]0;title\u0007\u009b2J\u202e[bold]x"
CLI: Final = Path(__file__).parents[3] / "src" / "maar" / "cli"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    file = tmp_path / "queue.json"
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    file.write_text(json.dumps({**kind, "metadata": {"name": NAME}, "spec": {"weight": 1}}))
    return file


def test_terminal_commands_are_written_out_and_the_rest_stays() -> None:
    assert visible(NAME) == SHOWN
    assert visible(plain := "Größe\t≥ 3\n├─ [x] \\u001b") == plain
    assert visible(visible(NAME)) == SHOWN


def test_tables_sentences_and_documents_show_it(run: Run, manifest: Path) -> None:
    table = run("maar", "plan", "-f", str(manifest))
    assert SHOWN in table.out
    found = json.loads(run("maar", "plan", "-f", str(manifest), "-o", "json").out)
    assert NAME in found["cycles"][0]["queues"]  # a program that reads it gets the name itself
    refused = run("maar", "plan", "-f", f"/{NAME}")
    assert SHOWN in refused.err
    wrong = run("maar", NAME)
    for ended in (table, refused, wrong):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", ended.out + ended.err)


@pytest.mark.parametrize("stream", ["out", "err"])
def test_a_display_that_is_drawn_anew_moves_the_cursor_and_shows_names_as_text(
    stream: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rich puts a stream of its own in front of the standard ones meanwhile."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    with visible_output():
        console = Terminal(stderr=stream == "err")
        with Live(console=console, auto_refresh=False) as live:
            for number in range(2):
                live.update(Text(f"{number}\n{NAME}", "green"), refresh=True)
    written = getattr(capsys.readouterr(), stream)
    assert "\x1b[32m" in written
    assert "\x1b[1A" in written
    assert SHOWN.replace(r"\u0007", "") in written  # rich leaves bells out of its texts
    assert r"\u001b[1A" not in written


def test_a_terminal_gets_our_colours_and_nobody_elses(manifest: Path) -> None:
    terminal, end = os.openpty()
    command = [str(Path(sys.executable).with_name("maar")), "plan", "-f", str(manifest)]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=end, stderr=end, stdin=end, env=environment) as process:
        os.close(end)
        written = b""
        try:
            while part := os.read(terminal, 1 << 16):
                written += part
        except OSError:  # so Linux says that the other end is closed
            pass
    os.close(terminal)
    assert process.returncode == 0
    text = written.decode()
    assert SHOWN in text
    assert "\x1b[2m" in text  # the legend is dim
    assert not re.search("\x1b\\[31m|\x1b\\]|[\x07\x9b\u202e]", text)


def test_nothing_is_drawn_on_another_console() -> None:
    others = [
        file.name
        for file in CLI.rglob("*.py")
        if file.name != "terminal.py"
        and re.search(r"\b(Console\(|rich import print)", file.read_text("utf-8"))
    ]
    assert others == []
