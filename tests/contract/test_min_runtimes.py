"""Minimum run times on API servers: the scheduler waits for them, and decides again when they end."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final

import pytest

from maar.apps.scheduler.observer import NullObserver
from maar.apps.scheduler.scheduler import Scheduler, Timing
from maar.core.engine import Engine
from maar.core.model.plan import Plan
from maar.core.model.reasons import Reason
from maar.kube.api_server import ApiServer
from maar.kube.paths import PODS, ResourcePath
from maar.kube.write import patch
from support.manifests import NODES, Json, body, make, node, pod, there, unique
from support.until import until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

QUEUES: Final = ResourcePath("scheduling.volcano.sh/v1beta1", "queues", namespaced=False)
GROUPS: Final = ResourcePath("scheduling.volcano.sh/v1beta1", "podgroups", namespaced=True)
OURS: Final = "patience"  # a scheduler name that nobody else has
NEVER_S: Final = 3600.0  # between decisions, unless something calls for one


class Decisions(NullObserver):
    """When what was decided."""

    def __init__(self) -> None:
        self.plans: list[tuple[float, Plan]] = []

    def decided(self, plan: Plan, seconds: float) -> None:
        """Note it with the time at which it began."""
        self.plans.append((time.time() - seconds, plan))


async def test_the_scheduler_decides_again_when_a_minimum_run_time_ends(
    api: ApiServer, namespace: str
) -> None:
    name, old, new = unique("timed"), f"{namespace}/old", f"{namespace}/new"
    machine = node(name)
    machine["metadata"]["labels"] = {"only": name}
    await make(api, NODES, "", machine)
    queue = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": name}}
    await make(api, QUEUES, "", {**queue, "spec": {"weight": 1, "preemptMinRuntime": "10s"}})
    for group in ("old", "new"):
        header = {"apiVersion": GROUPS.api_version, "kind": "PodGroup", "metadata": {"name": group}}
        await make(api, GROUPS, namespace, {**header, "spec": {"minMember": 1, "queue": name}})
    for number in range(2):
        await make(api, PODS, namespace, pod_of("old", number, name, nodeName=name))
    status = {"phase": "Running", "startTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    for number in range(2):
        outcome = await patch(api, PODS, f"{old}-{number}", {"status": status}, "strategic-merge", "status")
        body(outcome)
    await make(api, PODS, namespace, pod_of("new", 0, name))

    observer = Decisions()
    scheduler = Scheduler(api, Engine(scheduler_name=OURS), Timing(tick=NEVER_S), observer)
    task = asyncio.create_task(scheduler.run())
    try:
        await scheduler.first_decision.wait()
        refusal = observer.plans[0][1].pod_groups[new].refusal
        assert refusal is not None
        assert refusal.reason == Reason.VICTIMS_PROTECTED_UNTIL

        async def has_reason() -> bool:
            conditions = (await there(api, GROUPS, new)).get("status", {}).get("conditions", [])
            return any("spec.preemptMinRuntime of queue" in one.get("message", "") for one in conditions)

        await until_async("the group says until when it waits", has_reason)

        async def is_evicted() -> bool:
            return any(plan.evictions for _, plan in observer.plans)

        await until_async("one of the old pods is evicted", is_evicted)
    finally:
        scheduler.stop()
        await task
    began, evicting = next(one for one in observer.plans if one[1].evictions)
    assert [(one.beneficiary, one.action) for one in evicting.evictions] == [(new, "preempt")]
    assert refusal.until is not None
    assert began >= refusal.until


def pod_of(group: str, number: int, where: str, **spec: object) -> Json:
    """A pod that takes half of the node, which a real API server taints until its kubelet has reported."""
    anywhere = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"only": where}}
    made = pod(f"{group}-{number}", schedulerName=OURS, **anywhere, **spec)
    made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group}
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4"
    return made
