"""A real Prometheus scrapes the daemons: every panel has data, and an alert fires when it should."""

import asyncio
import itertools
import json
import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from maar.apps.console.settings import ConsoleSettings
from support.console_client import console_of
from support.control_plane import ControlPlane
from support.load_daemons import Daemons
from support.needs_kubernetes import needs_kubernetes, needs_prometheus
from support.prometheus import MONITORING, Prometheus
from support.until import wait_until
from support.webhooks_process import CLUSTER_USER, Webhooks, free_port

ROOT: Final = Path(__file__).parents[2]
PROGRAMS: Final = ("scheduler", "controllers", "webhooks")
CHOSEN: Final = {"$queue": "owner", "$parent": "root", "$resource": "cpu", "$__rate_interval": "1m"}
RUNNING: Final = "--field-selector=status.phase=Running"
CONFIGURATION: Final = """
actions: "enqueue, allocate, backfill, reclaim, preempt, cleanup"
tiers:
  - plugins: [{name: priority}, {name: gang}, {name: conformance}]
  - plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: usage}]
"""
QUEUE: Final = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: %s}
spec: %s
---
"""
POD: Final = """
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {scheduling.volcano.sh/queue-name: %s}}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: none, resources: {requests: {cpu: 1, memory: 1Gi}}}]
---
"""


@dataclass(frozen=True)
class Scraped:
    """The cluster, Maar's programs, and the Prometheus that scrapes them."""

    plane: ControlPlane
    daemons: Daemons
    prometheus: Prometheus
    scheduler: tuple[str, ...]  # its flags
    began: float  # when, by the clock of the control plane

    def start_scheduler(self) -> None:
        """Start it, and wait until it decides."""
        self.daemons.run("scheduler", "scheduler", self.plane.kubeconfig, *self.scheduler)
        wait_until("the scheduler is at work", lambda: self.daemons.has_logged("scheduler", "at work"))

    def submit(self, queue: str, *pods: str) -> None:
        """Make pods of a queue; each is a group of its own."""
        self.plane.kubectl("apply", "-f", "-", stdin="".join(POD % (pod, queue) for pod in pods))

    def count(self, pods: str, *flags: str) -> int:
        """How many of some pods there are."""
        found = self.plane.kubectl("get", "pods", "-o", "name", *flags).stdout.split()
        return sum(name.startswith(f"pod/{pods}") for name in found)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    needs_kubernetes()
    needs_prometheus()
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "plane").mkdir()
    (folder / "scheduler.conf").write_text(CONFIGURATION)
    ports = {program: free_port() for program in (*PROGRAMS, "prometheus")}
    listen = {program: ("--listen", f"127.0.0.1:{port}") for program, port in ports.items()}
    with ExitStack() as life:
        plane = life.enter_context(ControlPlane(folder / "plane", controllers=True, kwok=True))
        made = json.loads(plane.kubectl("create", "namespace", "maar-system", "-o", "json").stdout)
        began = datetime.fromisoformat(made["metadata"]["creationTimestamp"]).timestamp()
        for objects in ("crds", "webhooks"):
            plane.kubectl("apply", "-f", str(ROOT / "deploy" / objects))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        plane.make_nodes(["n1", "n2"])
        daemons = life.enter_context(Daemons(folder))
        Webhooks(plane, daemons).start(*CLUSTER_USER, *listen["webhooks"])
        targets = [f"127.0.0.1:{ports[program]}" for program in PROGRAMS]
        prometheus = Prometheus(daemons, folder, ports["prometheus"], targets, MONITORING / "alerts.yaml")
        flags = (*listen["scheduler"], "--no-leader-elect", "--config", str(folder / "scheduler.conf"))
        found = Scraped(plane, daemons, prometheus, flags, began)
        found.start_scheduler()
        daemons.run("controllers", "controllers", plane.kubeconfig, *listen["controllers"])
        wait_until("Prometheus answers", prometheus.is_ready)
        yield found
        daemons.check()


def queries() -> dict[str, str]:
    """Every query of every panel, with something chosen for the variables of its dashboard."""
    found: dict[str, str] = {}
    for path in sorted((MONITORING / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel["targets"]:
                query = target["expr"]
                for name, value in CHOSEN.items():
                    query = query.replace(name, value)
                found[f"{path.stem}: {panel['title']}: {target['legendFormat']}"] = query
    return found


def has_data(prometheus: Prometheus, query: str) -> bool:
    return any(not math.isnan(float(one["value"][1])) for one in prometheus.query(query))


def test_every_panel_has_data_while_the_daemons_work(scraped: Scraped) -> None:
    queues = {"greedy": "{weight: 1}", "owner": '{guarantee: {resource: {cpu: "4"}}}', "late": "{weight: 1}"}
    scraped.plane.kubectl("apply", "-f", "-", stdin="".join(QUEUE % one for one in queues.items()))
    scraped.submit("greedy", *(f"greedy-{number}" for number in range(20)))
    wait_until("the greedy have all but the guarantee", lambda: scraped.count("greedy", RUNNING) == 12)
    scraped.submit("owner", *(f"owner-{number}" for number in range(8)))
    scraped.submit("late", *(f"late-{number}" for number in range(8)))
    missing = queries()
    assert len(missing) > 40
    numbers = itertools.count()

    def have_data() -> bool:  # a rate is of what goes on while Prometheus looks
        nonlocal missing
        number = next(numbers)
        scraped.submit("greedy", f"greedy-{20 + number}")
        # Some are evicted already.
        scraped.plane.kubectl("delete", "pod", f"greedy-{number}", "--ignore-not-found")
        missing = {name: one for name, one in missing.items() if not has_data(scraped.prometheus, one)}
        return not missing

    wait_until(lambda: f"these have data: {missing}", have_data, pause_s=1)


def test_the_console_draws_the_history_that_it_has(scraped: Scraped) -> None:
    figures: dict[str, dict[str, Any]] = {}

    def all_is_used() -> bool:  # the last reading may be of a moment while victims leave
        answer = asyncio.run(history_of(scraped, "root"))
        assert (answer["source"], answer["note"]) == ("prometheus", "")
        figures.update({one["title"]: one for one in answer["figures"]})
        return "Last: 16 used." in figures["cpu: deserved and used"]["caption"]

    wait_until("the history shows that all is used", all_is_used)
    assert {"cpu: use by queue", "Waiting pod groups", "Evictions"} <= figures.keys()
    for name in ("greedy", "owner", "late"):
        assert f">{name}<" in figures["cpu: use by queue"]["svg"]


async def history_of(scraped: Scraped, queue: str) -> dict[str, Any]:
    settings = ConsoleSettings(prometheus=scraped.prometheus.address)
    async with console_of(scraped.plane.kubeconfig, settings=settings) as console:
        answer = await console.get("/api/history", queue=queue, hours="1")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.body
        return found


def test_the_numbers_are_those_of_the_cluster(scraped: Scraped) -> None:
    def shown(query: str) -> float:
        (found,) = scraped.prometheus.query(query)
        return float(found["value"][1])

    def agree() -> bool:
        groups = json.loads(scraped.plane.kubectl("get", "podgroups", "-o", "json").stdout)["items"]
        waiting = [one for one in groups if ("Unschedulable", "True") in conditions(one)]
        used = shown('maar_queue_used{queue_name="root",resource="cpu"}')
        asked = shown('maar_queue_pod_groups_waiting{queue_name="root"}')
        return bool(waiting) and asked == len(waiting) and used == scraped.count("", RUNNING)

    wait_until("waiting groups and used CPUs are those that kubectl shows", agree)
    assert shown('maar_queue_guarantee{queue_name="owner",resource="cpu"}') == 4
    assert shown('maar_queue_evictions_total{queue_name="greedy",action="reclaim"}') > 0
    assert shown('maar_queue_longest_wait_seconds{queue_name="greedy"}') > 0
    assert shown('time() - max(maar_queue_longest_wait_seconds{queue_name="greedy"})') > scraped.began
    assert shown("max(maar_last_decision_timestamp_seconds)") > scraped.began
    days = shown("min(maar_webhook_certificate_expiry_timestamp_seconds) - time()") / 86400
    assert 89 < days < 91


def conditions(group: dict[str, Any]) -> set[tuple[str, str]]:
    found = group.get("status", {}).get("conditions", ())
    return {(one["type"], one["status"]) for one in found}


def test_the_alert_of_a_scheduler_that_is_gone_fires_until_it_is_back(scraped: Scraped) -> None:
    alert = "MaarNoDecision"
    state = partial(scraped.prometheus.alert_state, alert)
    wait_until("decisions are scraped", lambda: state() == "inactive")
    scraped.daemons.kill("scheduler")
    wait_until("it is pending for as long as the rule says", lambda: state() == "pending")
    wait_until("it fires", lambda: state() == "firing")
    scraped.start_scheduler()
    wait_until("it does not fire any more", lambda: state() == "inactive")
