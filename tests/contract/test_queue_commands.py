"""The queue commands on API servers: what they write, what they print, and what they say when refused."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from maar.core.model.job import Command
from maar.core.model.kinds import plain, to_json
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import resource_path_of
from maar.kube.write import patch
from support.commands import Ended, Run, run
from support.manifests import unique
from support.until import TIMEOUT_S

__all__ = ["run"]

pytestmark = pytest.mark.usefixtures("crds", "anyio_backend")

TITLE = "queue.scheduling.volcano.sh"


class Commands:
    """`maar queue` and `vcctl queue` on the server under test."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def maar(self, *arguments: str, fails: bool = False) -> Ended:
        """Run `maar queue`."""
        return self._ended("maar", arguments, fails=fails)

    def vcctl(self, *arguments: str, fails: bool = False) -> Ended:
        """Run `vcctl queue`."""
        return self._ended("vcctl", arguments, fails=fails)

    def queue(self, name: str) -> Any:  # noqa: ANN401  # plain data
        """A queue as the server has it."""
        return json.loads(self.maar("get", name, "-o", "json").out)

    def _ended(self, program: str, arguments: tuple[str, ...], *, fails: bool) -> Ended:
        ended = self._run(program, "queue", *arguments)
        assert ended.code == (1 if fails else 0), ended.err
        return ended


@pytest.fixture
def commands(run: Run, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    return Commands(run)


@pytest.fixture
def name(commands: Commands) -> Iterator[str]:
    """A name for a queue, which is gone afterwards."""
    name = unique("queue")
    yield name
    commands.maar("delete", name)


def test_a_queue_is_made_as_it_was_asked_for(commands: Commands, name: str) -> None:
    made = commands.maar(
        "create", name, "--weight", "3", "--state", "closed", "--parent", "root", "--priority", "7",
        "--capability", "cpu=8,memory=16Gi", "--guarantee", "cpu=2,memory=12.5%", "--reclaimable=false",
        "--deserved", "cpu=6", "--request", "cpu=4",
        "--preempt-min-runtime", "10m", "--reclaim-min-runtime", "1h30m",
    )  # fmt: skip
    assert made == (0, f"{TITLE}/{name} created\n", "")
    spec = commands.queue(name)["spec"]
    assert {key: spec[key] for key in spec if key != "dequeueStrategy"} == {
        "weight": 3,
        "state": "Closed",
        "parent": "root",
        "priority": 7,
        "capability": {"cpu": "8", "memory": "16Gi"},
        "guarantee": {"resource": {"cpu": "2"}, "percentage": {"memory": "12.5"}},
        "deserved": {"cpu": "6"},
        "reclaimable": False,
        "request": {"cpu": "4"},
        "preemptMinRuntime": "10m",
        "reclaimMinRuntime": "1h30m",
    }


def test_what_is_made_can_be_printed(commands: Commands, name: str) -> None:
    made = yaml.safe_load(commands.maar("create", name, "-o", "yaml").out)
    assert made["metadata"]["name"] == name
    assert made["metadata"]["uid"]
    assert "managedFields" not in made["metadata"]


def test_an_update_changes_what_it_names_and_says_when_nothing_changed(commands: Commands, name: str) -> None:
    commands.maar("create", name, "--capability", "cpu=8,memory=16Gi", "--guarantee", "cpu=2")
    flags = ("--weight", "5", "--capability", "memory-", "--guarantee", "cpu=10%", "--deserved", "cpu=3")
    assert commands.maar("update", name, *flags).out == f"{TITLE}/{name} updated\n"
    spec = commands.queue(name)["spec"]
    assert spec["weight"] == 5
    assert spec["capability"] == {"cpu": "8"}
    assert spec["deserved"] == {"cpu": "3"}
    assert spec["guarantee"]["percentage"] == {"cpu": "10"}
    assert not spec["guarantee"].get("resource")
    assert commands.maar("update", name, *flags).out == f"{TITLE}/{name} unchanged\n"
    assert commands.maar("update", name, "--reclaim-min-runtime", "1h").out == f"{TITLE}/{name} updated\n"
    assert commands.queue(name)["spec"]["reclaimMinRuntime"] == "1h"
    assert commands.maar("update", name, "--reclaim-min-runtime", "").out == f"{TITLE}/{name} updated\n"
    assert "reclaimMinRuntime" not in commands.queue(name)["spec"]
    assert commands.maar("operate", name, "-a", "update", "--weight", "6").out == f"{TITLE}/{name} updated\n"
    assert commands.queue(name)["spec"]["weight"] == 6


def test_a_queue_is_closed_and_opened_by_its_spec(commands: Commands, name: str) -> None:
    commands.maar("create", name)
    for verb in (("close", name), ("operate", name, "-a", "close")):
        assert commands.maar(*verb).out in (f"{TITLE}/{name} closing\n", f"{TITLE}/{name} unchanged\n")
        assert commands.queue(name)["spec"]["state"] == "Closed"
    assert commands.maar("open", name).out == f"{TITLE}/{name} opened\n"
    assert commands.queue(name)["spec"]["state"] == "Open"


def test_whoever_opens_a_queue_below_a_closed_one_is_told_which(commands: Commands, name: str) -> None:
    child = unique("child")
    commands.maar("create", name, "--state", "Closed")
    commands.maar("create", child, "--parent", name, "--state", "Closed")
    opened = commands.maar("open", child)
    assert opened.out == f"{TITLE}/{child} opened\n"
    assert f"open that with maar queue open {name}" in opened.err
    commands.maar("delete", child)


def test_queues_are_listed_by_labels_in_every_form(commands: Commands, name: str) -> None:
    commands.maar("create", name)
    table = commands.maar("list").out.splitlines()
    assert table[0].split() == ["NAME", "PARENT", "WEIGHT", "STATE", "DESERVED", "USED", "SHARE", "AGE"]
    assert [line for line in table if line.startswith(f"{name} ")]
    assert "RECLAIMABLE" in commands.maar("list", "-o", "wide").out
    assert f"{TITLE}/{name}" in commands.maar("list", "-o", "name").out.splitlines()
    listed = json.loads(commands.maar("list", "-o", "json").out)
    assert (listed["kind"], name in [one["metadata"]["name"] for one in listed["items"]]) == ("List", True)
    none = commands.maar("list", "-l", "nobody=has-this")
    assert (none.out, none.err) == ("", "No queues found with these labels\n")
    refused = commands.maar("list", "-l", "a===", fails=True)
    assert refused.err.startswith("error: queues cannot be listed: ")
    assert "write -l team=a,tier!=dev" in refused.err


def test_several_queues_are_shown_as_a_list(commands: Commands, name: str) -> None:
    second = unique("second")
    commands.maar("create", name)
    commands.maar("create", second)
    shown = yaml.safe_load(commands.maar("get", name, second, "-o", "yaml").out)
    assert [one["metadata"]["name"] for one in shown["items"]] == [name, second]
    assert commands.maar("delete", second).out == f"{TITLE}/{second} deleted\n"


def test_what_a_server_refuses_is_told_in_a_sentence(commands: Commands, name: str) -> None:
    commands.maar("create", name)
    taken = commands.maar("create", name, fails=True)
    advice = f"change it with maar queue update {name}, or choose another name"
    assert taken.err == f"error: queue {name} exists already; {advice}\n"
    light = commands.vcctl("create", "-n", unique("q"), "-w", "0", fails=True)
    assert "should be greater than or equal to 1; correct it and try again" in light.err
    bad = commands.maar("create", "Bad_Name", fails=True)
    assert bad.err.startswith("error: queue Bad_Name: metadata.name: Invalid value")


@pytest.mark.parametrize("verb", ["get", "delete", "open", "close"])
def test_a_queue_that_is_not_there_keeps_no_other_from_anything(
    verb: str, commands: Commands, name: str
) -> None:
    commands.maar("create", name)
    missing = "error: queue nobody-there does not exist; maar queue list shows those that do\n"
    ended = commands.maar(verb, "nobody-there", name, fails=True)
    assert ended.err == missing
    assert name in ended.out
    if verb == "delete":
        assert ended.out == f"{TITLE}/{name} deleted\n"
        commands.maar("create", name)
    assert commands.maar("get", "a/b", fails=True).err == (
        "error: 'a/b' is no key of queues: write the name alone\n"
    )


def test_a_queue_is_watched_until_somebody_interrupts(
    commands: Commands, name: str, kubeconfig: Path
) -> None:
    commands.maar("create", name)
    watching = subprocess.Popen(
        [str(Path(sys.prefix) / "bin" / "maar"), "queue", "get", name, "-w"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("NAME")
        assert watching.stdout.readline().split()[:3] == [name, "root", "1"]
        commands.maar("update", name, "--weight", "2")
        assert watching.stdout.readline().split()[:3] == [name, "root", "2"]
        commands.maar("delete", name)
        assert watching.stdout.readline().split()[:4] == [name, "root", "2", "Deleted"]
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=TIMEOUT_S)
        assert (watching.returncode, out, err) == (130, "", "")
    finally:
        watching.kill()
        watching.communicate()
        commands.maar("create", name)


def test_the_tree_and_its_explanation_come_from_the_cluster(commands: Commands, name: str) -> None:
    commands.maar("create", name, "--weight", "4", "--request", "cpu=1")
    drawn = commands.maar("tree")
    assert re.search(rf"─ {name} +4 +0 +-", drawn.out)  # nobody has written its share
    assert re.search(r"QUEUE +WEIGHT +USED +DESERVED +cpu ", drawn.out)
    data = json.loads(commands.maar("tree", name, "--namespaces", "-o", "json").out)
    assert data["queues"][name]["weight"] == 4
    explained = commands.maar("explain", name)
    assert explained.out.startswith(f"queue {name} deserves cpu ")
    assert commands.maar("explain", f"{name}x", fails=True).err == (
        f"error: queue {name}x does not exist; did you mean {name}?\n"
    )


def test_shares_of_different_moments_are_told_of(
    commands: Commands, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statuses are written one by one: between two of them a child may seem to deserve too much."""
    monkeypatch.setattr("maar.cli.queue.sharing._BETWEEN_READS_S", 0.01)
    child = f"{name}-child"
    commands.maar("create", name)
    commands.maar("create", child, "--parent", name)
    for queue, cpus in ((name, 4), (child, 5)):
        write_status(queue, {"deserved": {"cpu": str(cpus)}})
    drawn = commands.maar("tree", name)
    assert "note: some queues deserve more than the queue above them" in drawn.err
    write_status(child, {"deserved": {"cpu": "3"}})
    assert "note: some queues" not in commands.maar("tree", name).err
    commands.maar("close", child)
    write_status(child, {"state": "Closed"})
    commands.maar("delete", child)


def write_status(queue: str, status: dict[str, object]) -> None:
    """Write the status of a queue as the scheduler does."""

    async def work() -> None:
        async with ApiServer(await load(None, None)) as server:
            outcome = await patch(
                server, resource_path_of(Queue), queue, {"status": status}, subresource="status"
            )
            assert isinstance(outcome, Done)

    asyncio.run(work())


@pytest.mark.parametrize("verb", ["get", "close", "open", "update", "delete", "tree", "explain"])
def test_a_misspelt_queue_is_guessed(commands: Commands, name: str, verb: str) -> None:
    commands.maar("create", name)
    flags = ("--weight", "2") if verb == "update" else ()
    reported = commands.maar(verb, f"{name}x", *flags, fails=True).err.splitlines()
    assert reported[-1] == f"error: queue {name}x does not exist; did you mean {name}?"


def test_vcctl_makes_a_closed_queue_and_shows_it_in_volcanos_columns(commands: Commands, name: str) -> None:
    assert commands.vcctl("create", "-n", name, "-w", "3", "-S", "Closed") == (0, "", "")
    spec = commands.queue(name)["spec"]
    assert (spec["state"], spec["weight"]) == ("Closed", 3)
    table = commands.vcctl("get", "--name", name).out.splitlines()
    assert table[0].split() == [
        "Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown", "Completed",
    ]  # fmt: skip
    assert table[1].split() == [name, "3", "root", "0", "0", "0", "0", "0"]
    assert table[1].split() in [line.split() for line in commands.vcctl("list").out.splitlines()]
    assert commands.vcctl("operate", "-n", name, "-a", "update", "-w", "5").out == ""
    assert commands.vcctl("update", "-n", name, "--weight", "6").out == ""
    assert commands.queue(name)["spec"]["weight"] == 6
    assert commands.vcctl("delete", "-n", name) == (0, "", "")
    commands.maar("get", name, fails=True)
    commands.maar("create", name)


@pytest.mark.parametrize(
    ("verb", "order"),
    [
        (("close",), "CloseQueue"),
        (("open",), "OpenQueue"),
        (("operate", "-a", "close"), "CloseQueue"),
        (("operate", "-a", "open"), "OpenQueue"),
    ],
)
def test_vcctl_leaves_an_order_for_the_queue_as_volcanos_clients_do(
    verb: tuple[str, ...], order: str, commands: Commands, name: str, kubeconfig: Path
) -> None:
    commands.maar("create", name)
    assert commands.vcctl(*verb, "-n", name) == (0, "", "")
    found = asked(kubeconfig, "GET", resource_path_of(Command).all("default"))["items"]
    mine = [one for one in found if one["target"]["name"] == name]
    assert [one["action"] for one in mine] == [order]
    assert mine[0]["metadata"]["name"].startswith(f"{name}-{order.lower()}-")
    owner = mine[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"]) == ("Queue", commands.queue(name)["metadata"]["uid"])


def test_who_may_not_is_told_whom_to_ask(
    commands: Commands, kubeconfig: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if "embedded" in request.node.name:
        pytest.skip("whoever has a token of the embedded server may do everything")
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    token = asked(kubeconfig, "POST", path, wanted)["status"]["token"]
    document["users"] = [{"name": one["name"], "user": {"token": token}} for one in document["users"]]
    theirs = tmp_path / "kubeconfig"
    theirs.write_text(yaml.safe_dump(document), encoding="utf-8")
    who = "system:serviceaccount:default:default"
    advice = "ask its administrator for that right, or choose another --context"
    for verb, command in (("list", ("list",)), ("create", ("create", "q")), ("get", ("close", "q"))):
        ended = commands.maar(*command, "--kubeconfig", str(theirs), fails=True)
        assert ended.err == f"error: {who} may not {verb} queues on this cluster; {advice}\n"
    ended = commands.maar("explain", "root", "--kubeconfig", str(theirs), fails=True)
    assert advice in ended.err


def asked(kubeconfig: Path, method: str, path: str, document: object = None) -> Any:  # noqa: ANN401  # plain data
    """What the server answers."""

    async def ask() -> object:
        async with ApiServer(await load(kubeconfig)) as server:
            return plain(
                await server.request(method, path, None, None if document is None else to_json(document))
            )

    return asyncio.run(ask())
