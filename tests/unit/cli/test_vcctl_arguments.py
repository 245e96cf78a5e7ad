"""Volcano's programs take the flags that every command of Volcano's has, at every level."""

import subprocess
import sys
from pathlib import Path

import pytest

from maar.cli.lazy_commands import of_volcano


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("-h", "--help"),
        ("help", "--help"),
        ("help job run", "job run --help"),
        ("job help", "job --help"),
        ("job run help", "job run --help"),
        ("job run -h", "job run --help"),
        ("-v 4 job list -n a", "job list -n a"),
        ("job -v=4 list --v 2 --v=9 -v3", "job list"),
        ("job list --vmodule client=6 --log-flush-frequency 5s", "job list"),
        ("--vmodule=a=1,b=2 queue get -n help", "queue get -n help"),
        ("job run -N help", "job run -N help"),
        ("job list -- -h", "job list -- -h"),
    ],
)
def test_flags_of_every_command(given: str, meant: str) -> None:
    assert of_volcano(given.split(), groups=2) == meant.split()


@pytest.mark.parametrize("level", [[], ["job"], ["job", "run"], ["queue", "list"]])
def test_help_is_printed_whatever_asks_for_it(level: list[str]) -> None:
    vcctl = str(Path(sys.executable).with_name("vcctl"))
    asked = [[*level, "--help"], [*level, "-h"], ["help", *level], ["-v", "5", *level, "-h", "--vmodule=x=1"]]
    found = [subprocess.run([vcctl, *one], capture_output=True, text=True, check=False) for one in asked]
    assert {one.returncode for one in found} == {0}
    assert len({one.stdout for one in found}) == 1
    assert found[0].stdout.startswith(" ".join(["Usage: vcctl", *level]))
