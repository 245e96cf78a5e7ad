"""The house rules and the layers fail when they are broken: each rule is broken once, in a copy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.project_copy import append, copy_to

BREACHES = [
    ("src/maar/kube/helpers.py", '"""A drawer."""\n', "the name helpers says nothing"),
    ("src/maar/kube/warden.py", '"""A guard."""\n', "the name warden is a metaphor"),
    ("src/maar/kube/watch.py", "class OpenDoor: ...\n", "the name OpenDoor is a metaphor (door)"),
    ("src/maar/kube/watch.py", "def asks_nobody(): ...\n", "the name asks_nobody is a metaphor (nobody)"),
    ("src/maar/kube/watch.py", "class A:\n    _told: int = 0\n", "the name _told is a metaphor (told)"),
    (
        "tests/unit/test_cli.py",
        "def test_the_door(): ...\n",
        "the name test_the_door is a metaphor (door)",
    ),
    ("tests/support/until.py", "TOLD = 1\n", "the name TOLD is a metaphor (told)"),
    ("src/maar/kube/silent.py", "x = 1\n", "begin with one sentence"),
    (
        "src/maar/core/views/drawing.py",
        '\n\nclass Pod:\n    """Another."""\n',
        "src/maar/core/model/pod.py has a class Pod too",
    ),
    ("docs/decisions/0001-late.md", "# Late\n", "a number that no other has"),
    ("docs/decisions/0999-long.md", "# Long\n\n" + "word\n" * 251, "251 words, more than 250"),
    ("docs/decisions/0999-wide.md", "# Wide\n\n" + "word " * 21, "0999-wide.md:3: wrap at 100"),
    (
        "docs/decisions/0998-new.md",
        "# New\n\nThis replaces record 1.\n",
        "docs/decisions/0001: record 0998 replaces it",
    ),
    (
        "docs/decisions/0997-new.md",
        "# New\n\nSuperseded by [1](0001-a-pure-core.md).\n",
        "docs/decisions/0997: superseded by 0001-a-pure-core.md, which is no later record",
    ),
    (
        "docs/decisions/0996-new.md",
        "# New\n\nNew.\n\nSuperseded by 999.\n",
        "docs/decisions/0996: say `Superseded by",
    ),
    ("docs/here.md", "design.md says so\n", "cites design.md, which does not exist"),
    ("docs/here.md", "as in §4.1\n", "cites a section by its number"),
    ("src/maar/kube/watch.py", "# as issue 7 asks\n", "cites an issue"),
    ("tests/unit/test_cli.py", "# the first seed's example\n", "cites a document that was never here"),
    ("docs/here.md", "[there](there.txt)\n", "there.txt does not exist"),
    ("docs/here.md", "[there](rules.md#there)\n", "rules.md has no heading #there"),
    ("src/maar/kube/long.py", '"""Long."""\n' + "x = 1\n" * 400, "more than 400 lines"),
    ("src/maar/kube/watch.py", "import yaml\nyaml.safe_load('')\n", "reads YAML without limits"),
    ("src/maar/kube/paths.py", "from yaml import load_all\n", "reads YAML without limits"),
    ("src/maar/kube/writers.py", "msgspec.yaml.decode(b'')\n", "reads YAML without limits"),
    ("tests/unit/test_cli.py", "from time import process_time\n", "reads a clock"),
    ("tests/unit/test_kinds.py", "time.monotonic()\n", "reads a clock"),
    ("tests/unit/test_cli.py", "subprocess.run([], timeout=60)\n", "a limit of its own"),
    ("tests/unit/test_kinds.py", "asyncio.timeout(10)\n", "a limit of its own"),
    ("docs/here.md", "look in /wor" + "k/main\n", "a path of one machine"),
    ("constraints.txt", "x @ http" + "s://example.org/x.whl\n", "an address in a set-up file"),
]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the project that a test may spoil."""
    return copy_to(tmp_path)


@pytest.fixture(scope="module")
def breaches(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the house rules say of a copy in which each of them is broken."""
    house = copy_to(tmp_path_factory.mktemp("house"))
    for file, text, _ in BREACHES:
        append(house / file, text)
    result = make(house, "house")
    assert result.returncode != 0
    return result.stdout.splitlines()


def make(house: Path, target: str) -> subprocess.CompletedProcess[str]:
    """Run a verb of the Makefile with the environment that runs this test, without setting it up anew."""
    venv = Path(sys.prefix)
    command = ["make", target, f"VENV={venv}", f"--assume-old={venv}/.ready"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False)


def test_an_untouched_copy_keeps_the_contracts(house: Path) -> None:
    for target in ("layers", "house"):
        result = make(house, target)
        assert result.returncode == 0, result.stdout + result.stderr


def test_a_layer_violation_makes_the_whole_check_fail(house: Path) -> None:
    append(
        house / "src/maar/core/model/node.py",
        "\n\nfrom maar.core.fairshare import tree  # noqa: E402, F401\n",
    )
    result = make(house, "check")
    assert result.returncode != 0
    assert "maar.core.model is not allowed to import maar.core.fairshare" in result.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("core/engine.py", "import maar.kube", "cli -> api -> apps -> kube | embedded | plugins -> core"),
        (
            "kube/watch.py",
            '"""A watch."""\nimport maar.embedded',
            "cli -> api -> apps -> kube | embedded | plugins -> core",
        ),
        (
            "apps/manifests.py",
            "import maar.cli.plan",
            "cli -> api -> apps -> kube | embedded | plugins -> core",
        ),
        ("core/views/__init__.py", "import maar.core.admission", "views | controllers | admission"),
        (
            "apps/scheduler/event_filter.py",
            "import maar.apps.snapshots.taking",
            "webhooks | up | demo | manifests",
        ),
        ("apps/metrics/queues.py", "import maar.embedded.rows", "daemons beside a cluster use nothing"),
        ("apps/snapshots/files.py", "import maar.embedded.store", "daemons beside a cluster use nothing"),
        (
            "serving/http.py",
            "import maar.core.model.kinds",
            "cli -> api -> apps -> kube | embedded | plugins -> core",
        ),
        ("core/cycle/__init__.py", "import time", "the core does no I/O"),
        ("core/engine.py", "import maar.core.cycle.state", "others use the cycle through maar.core.cycle"),
        (
            "core/reasons/outcomes.py",
            "from maar.core.cycle.placing import room",
            "others use the cycle through maar.core.cycle",
        ),
        (
            "core/model/kinds.py",
            "import maar.parsing.limits",
            "cli -> api -> apps -> kube | embedded | plugins -> core",
        ),
        ("core/fairshare/queue_demand.py", "import logging", "the core does no I/O"),
        (
            "newcomer/__init__.py",
            '"""A package without a place."""',
            "cli -> api -> apps -> kube | embedded | plugins -> core",
        ),
    ],
)
def test_every_layer_is_held(house: Path, file: str, line: str, broken: str) -> None:
    append(house / "src/maar" / file, f"\n{line}\n")
    result = make(house, "layers")
    assert result.returncode != 0
    assert broken in " ".join(result.stdout.split())


@pytest.mark.parametrize(("file", "text", "breach"), BREACHES)
def test_every_house_rule_is_held(breaches: list[str], file: str, text: str, breach: str) -> None:
    assert text
    assert [line for line in breaches if line.startswith((file, breach)) and breach in line]


@pytest.mark.parametrize(
    ("rule", "breach"),
    [
        ("- {id: 9.9.9, section: X, rule: X}\n", "rule 9.9.9: name the page and heading"),
        (
            "- {id: 9.9.9, section: X, in: terms.md#there, rule: X}\n",
            "rule 9.9.9: terms.md has no heading #there",
        ),
    ],
)
def test_a_rule_has_a_page_and_a_heading(house: Path, rule: str, breach: str) -> None:
    append(house / "tests/scenarios/rules.yaml", rule)
    result = make(house, "house")
    assert result.returncode != 0
    assert breach in result.stdout
