"""The rounds of the controllers, and events that are forgotten."""

import asyncio
import logging
import time
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from maar.embedded.controllers.runner import Runner, run_controllers
from maar.embedded.controllers.view import EmbeddedController, ObjectChanged, Reconciled, View
from maar.embedded.store import Key
from support.embedded import Document, EmbeddedCluster, opened
from support.until import TIMEOUT_S, until


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        yield made


class Clumsy(EmbeddedController):
    """A controller that cannot cope with some objects."""

    def __init__(self) -> None:
        self.observed: list[str] = []
        self.looked: list[str] = []

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:  # noqa: ARG002
        """Fail at one name."""
        if change.key.resource == "configmaps":
            if change.key.name == "unheard":
                raise ValueError("too loud")
            self.observed.append(change.key.name)
            yield change.key

    def reconcile(self, cluster: View, keys: Collection[Key], now: datetime) -> Reconciled:  # noqa: ARG002
        """Fail twice at one name."""
        for key in keys:
            self.looked.append(key.name)
            yield key, int
            if key.name == "unseen" and self.looked.count("unseen") < 3:
                raise ValueError("too dark")


def turns(embedded: EmbeddedCluster, rounds: Runner) -> None:
    while (wait := rounds.turn()) is not None:
        embedded.clock.now += wait


def test_an_error_harms_only_its_own_object_and_is_tried_again(
    embedded: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    controller = Clumsy()
    rounds = Runner(embedded.cluster, [controller])
    for name in ("unheard", "unseen", "fine"):
        embedded.make("configmaps", name)
    with caplog.at_level(logging.WARNING):
        turns(embedded, rounds)
    assert controller.looked.count("unseen") == 3
    assert "fine" in controller.looked
    assert (
        "Clumsy cannot take in Key(resource='configmaps', namespace='default', name='unheard')" in caplog.text
    )
    assert "too loud" in caplog.text
    assert "tries again in 0.1 s" in caplog.text
    assert "tries again in 0.2 s" in caplog.text


class Slow(EmbeddedController):
    """A controller that takes its time over every object."""

    def __init__(self, pieces: int) -> None:
        self.done, self._pieces = 0, pieces

    def keys(self, change: ObjectChanged, cluster: View) -> Iterator[Key]:  # noqa: ARG002
        """Look at all config maps."""
        if change.key.resource == "configmaps":
            yield change.key

    def reconcile(self, cluster: View, keys: Collection[Key], now: datetime) -> Reconciled:  # noqa: ARG002
        """Work for longer than a turn may last, whole or in pieces."""
        for key in keys:
            time.sleep(0.005)
            self.done += 1
            for _ in range(self._pieces):
                yield key, int
                time.sleep(0.005)
                self.done += 1


@pytest.mark.parametrize("pieces", [0, 3])
def test_a_turn_ends_soon_however_much_there_is_to_do(embedded: EmbeddedCluster, pieces: int) -> None:
    for number in range(20):
        embedded.make("configmaps", f"c{number}")
    controller = Slow(pieces)
    rounds = Runner(embedded.cluster, [controller])
    while not controller.done:
        rounds.turn()
    for _ in range(5):
        before = controller.done
        assert rounds.turn() == 0.0
        assert controller.done - before <= 2
    turns(embedded, rounds)
    assert controller.done == 20 * (1 + pieces)


def test_everything_is_seen_once_at_the_start_and_then_every_change(embedded: EmbeddedCluster) -> None:
    for number in range(450):  # more than are read at once
        embedded.make("configmaps", f"c{number}")
    controller = Clumsy()
    rounds = Runner(embedded.cluster, [controller])
    turns(embedded, rounds)
    assert sorted(controller.observed) == sorted(f"c{number}" for number in range(450))
    embedded.cluster.delete("configmaps", "default", "c7")
    turns(embedded, rounds)
    assert controller.observed[-1] == "c7"


def test_controllers_work_until_they_are_cancelled_and_let_others_have_their_turn(
    embedded: EmbeddedCluster,
) -> None:
    async def scenario() -> int:
        task = asyncio.create_task(run_controllers(embedded.cluster))
        parent = embedded.make("configmaps", "parent")
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "parent",
            "uid": parent["metadata"]["uid"],
        }
        for number in range(1000):
            embedded.make("configmaps", f"c{number}", "default", {"ownerReferences": [reference]})
        embedded.cluster.delete("configmaps", "default", "parent")
        others = 0
        while embedded.names("configmaps", "default") != ["kube-root-ca.crt"]:
            await asyncio.sleep(0)
            others += 1
        embedded.make("namespaces", "team", "")  # they are woken by a change
        await until("it is furnished", lambda: bool(embedded.names("serviceaccounts", "team")))
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        return others

    assert asyncio.run(asyncio.wait_for(scenario(), TIMEOUT_S)) > 20
    embedded.make("namespaces", "late", "")
    assert embedded.names("serviceaccounts", "late") == []


def event(embedded: EmbeddedCluster, name: str, **fields: object) -> None:
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    embedded.make("events", name, involvedObject=about, **fields)


def stamp(embedded: EmbeddedCluster, seconds_ago: float) -> str:
    moment = time.gmtime(embedded.clock.now - seconds_ago)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


def test_events_are_forgotten_an_hour_after_they_happened_last(embedded: EmbeddedCluster) -> None:
    event(embedded, "old")
    embedded.clock.now += 1800
    event(embedded, "young")
    event(embedded, "series", lastTimestamp=stamp(embedded, 0))
    embedded.settle()
    assert embedded.names("events") == ["old", "series", "young"]
    embedded.clock.now += 1801
    embedded.settle(restart=True)
    assert embedded.names("events") == ["series", "young"]


def test_an_event_that_happens_again_lives_longer(embedded: EmbeddedCluster) -> None:
    event(embedded, "again")
    embedded.clock.now += 3500
    later: Document = {"lastTimestamp": stamp(embedded, 0)}
    embedded.cluster.change("events", "default", "again", lambda value: value | later)
    embedded.clock.now += 200
    embedded.settle()
    assert embedded.names("events") == ["again"]
    embedded.clock.now += 3500
    embedded.settle(restart=True)
    assert embedded.names("events") == []
