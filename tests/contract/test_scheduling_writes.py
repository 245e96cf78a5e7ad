"""What a plan asks for: binding, evicting, nominating, and getting claims their volumes."""

from http import HTTPStatus

import pytest

from maar.core.model.pod import EVICTED_FOR_ANNOTATION, QUEUE_GATE
from maar.core.model.volume import SELECTED_NODE_ANNOTATION
from maar.core.model.writes import Bind, BindVolume, Evict, Nominate, RemoveGate, SelectNode
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone, Protected
from maar.kube.paths import CLAIMS, PODS, VOLUMES, ResourcePath
from maar.kube.write import bind, carry_out, delete, evict, nominate, patch_status
from support.faults import Proxy, Say
from support.manifests import Json, make, make_node, pod, there
from support.until import until_async

pytestmark = pytest.mark.anyio

BUDGETS = ResourcePath("policy/v1", "poddisruptionbudgets", namespaced=True)
ANOTHER = "11111111-2222-3333-4444-555555555555"
READY = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
}


async def test_a_bound_pod_has_its_node_and_says_so(api: ApiServer, namespace: str) -> None:
    node, key = await make_node(api), f"{namespace}/p"
    made = await make(api, PODS, namespace, pod("p"))
    bound = await carry_out(api, Bind(pod=key, node=node), made["metadata"]["uid"])
    assert isinstance(bound, Done)
    found = await there(api, PODS, key)
    assert found["spec"]["nodeName"] == node
    scheduled = [one for one in found["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert [one["status"] for one in scheduled] == ["True"]


async def test_a_pod_is_bound_once(api: ApiServer, namespace: str) -> None:
    first, second, key = await make_node(api), await make_node(api), f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    assert isinstance(await bind(api, key, first), Done)
    for node in (first, second):
        again = await bind(api, key, node)
        assert isinstance(again, Conflict)
        assert f'is already assigned to node "{first}"' in again.message
    assert (await there(api, PODS, key))["spec"]["nodeName"] == first


async def test_a_bind_for_an_earlier_pod_of_that_name_does_nothing(api: ApiServer, namespace: str) -> None:
    node, key = await make_node(api), f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    assert isinstance(await bind(api, key, node, uid=ANOTHER), Conflict)
    assert "nodeName" not in (await there(api, PODS, key))["spec"]


async def test_a_pod_that_is_gone_cannot_be_bound(api: ApiServer, namespace: str) -> None:
    assert await bind(api, f"{namespace}/p", "n") == Gone('pods "p" not found')


async def test_a_gated_pod_cannot_be_bound(api: ApiServer, namespace: str) -> None:
    node, key = await make_node(api), f"{namespace}/p"
    await make(api, PODS, namespace, pod("p", schedulingGates=[{"name": "maar.sh/wait"}]))
    outcome = await bind(api, key, node)
    assert isinstance(outcome, Conflict)
    assert "schedulingGates" in outcome.message


async def test_a_pod_that_is_promised_room_says_where_until_it_is_taken_back(
    api: ApiServer, namespace: str
) -> None:
    node, key = await make_node(api), f"{namespace}/p"
    uid = (await make(api, PODS, namespace, pod("p")))["metadata"]["uid"]
    assert isinstance(await carry_out(api, Nominate(pod=key, node=node), uid), Done)
    assert (await there(api, PODS, key))["status"]["nominatedNodeName"] == node
    assert isinstance(await nominate(api, key, "x", uid=ANOTHER), Conflict)
    assert isinstance(await nominate(api, key, "", uid), Done)
    assert "nominatedNodeName" not in (await there(api, PODS, key))["status"]


async def test_the_scheduling_gate_of_a_queue_is_removed(api: ApiServer, namespace: str) -> None:
    key, gated = f"{namespace}/p", pod("p")
    gated["spec"]["schedulingGates"] = [{"name": QUEUE_GATE}]
    uid = (await make(api, PODS, namespace, gated))["metadata"]["uid"]
    assert isinstance(await carry_out(api, RemoveGate(pod=key), ANOTHER), Conflict)
    assert isinstance(await carry_out(api, RemoveGate(pod=key), uid), Done)
    changed = await there(api, PODS, key)
    assert not changed["spec"].get("schedulingGates")
    assert changed["metadata"]["annotations"][QUEUE_GATE] == "true"


async def test_a_claim_is_told_the_node_of_its_first_consumer(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/c"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": spec,
    }
    await make(api, CLAIMS, namespace, claim)
    assert isinstance(await carry_out(api, SelectNode(claim=key, node="n7")), Done)
    assert (await there(api, CLAIMS, key))["metadata"]["annotations"][SELECTED_NODE_ANNOTATION] == "n7"


async def test_a_volume_is_given_to_a_claim_unless_somebody_else_has_it(
    api: ApiServer, namespace: str
) -> None:
    name, claim = f"v-{namespace}", f"{namespace}/c"
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": f"nobody-{namespace}",
        "hostPath": {"path": "/nothing"},
    }
    metadata = {"name": name}
    volume: Json = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    seen = (await make(api, VOLUMES, "", volume))["metadata"]["resourceVersion"]
    given = BindVolume(volume=name, claim=claim, node="n", uid="the-claims")
    try:
        assert isinstance(await carry_out(api, given), Done)
        found = await there(api, VOLUMES, name)
        assert found["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
        owner = {key: found["spec"]["claimRef"][key] for key in ("kind", "namespace", "name", "uid")}
        assert owner == {
            "kind": "PersistentVolumeClaim", "namespace": namespace, "name": "c", "uid": "the-claims",
        }  # fmt: skip
        late = BindVolume(volume=name, claim=f"{namespace}/d", node="n", uid="another", version=seen)
        assert isinstance(await carry_out(api, late), Conflict)
    finally:
        await delete(api, VOLUMES, name)


async def test_an_evicted_pod_is_told_to_end_and_for_whom(api: ApiServer, namespace: str) -> None:
    key = f"{namespace}/p"
    uid = await running(api, namespace, "p")
    write = Evict(pod=key, action="reclaim", beneficiary="team/train")
    assert isinstance(await carry_out(api, write, uid), Done)
    found = await there(api, PODS, key)
    assert found["metadata"]["deletionTimestamp"]
    assert found["metadata"]["annotations"][EVICTED_FOR_ANNOTATION] == "team/train"
    targets = [one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert [one["reason"] for one in targets] == ["EvictionByEvictionAPI"]


async def test_a_pod_evicted_for_nobody_is_not_marked(api: ApiServer, namespace: str) -> None:
    uid = await running(api, namespace, "p")
    assert isinstance(await carry_out(api, Evict(pod=f"{namespace}/p", action="cleanup"), uid), Done)
    metadata = (await there(api, PODS, f"{namespace}/p"))["metadata"]
    assert metadata["deletionTimestamp"]
    assert EVICTED_FOR_ANNOTATION not in metadata.get("annotations", {})


async def test_an_eviction_for_an_earlier_pod_of_that_name_does_nothing(
    api: ApiServer, namespace: str
) -> None:
    await running(api, namespace, "p")
    for beneficiary in ("team/train", None):
        assert isinstance(await evict(api, f"{namespace}/p", beneficiary, uid=ANOTHER), Conflict)
    metadata = (await there(api, PODS, f"{namespace}/p"))["metadata"]
    assert "deletionTimestamp" not in metadata
    assert EVICTED_FOR_ANNOTATION not in metadata.get("annotations", {})


async def test_a_pod_that_is_gone_cannot_be_evicted(api: ApiServer, namespace: str) -> None:
    for beneficiary in ("team/train", None):
        assert await evict(api, f"{namespace}/p", beneficiary) == Gone('pods "p" not found')


async def test_a_budget_protects_its_pod_and_no_mark_stays_on_it(api: ApiServer, namespace: str) -> None:
    uid = await running(api, namespace, "p")
    await budget(api, namespace, "p", allowed=0)
    outcome = await evict(api, f"{namespace}/p", "team/train", uid)
    assert outcome == Protected("Cannot evict pod as it would violate the pod's disruption budget.")
    metadata = (await there(api, PODS, f"{namespace}/p"))["metadata"]
    assert "deletionTimestamp" not in metadata
    assert EVICTED_FOR_ANNOTATION not in metadata.get("annotations", {})


async def test_a_budget_that_allows_one_lets_one_go(api: ApiServer, namespace: str) -> None:
    uids = [await running(api, namespace, name, app="a") for name in ("p", "q")]
    await budget(api, namespace, "a", allowed=1)
    assert isinstance(await evict(api, f"{namespace}/p", uid=uids[0]), Done)
    assert isinstance(await evict(api, f"{namespace}/q", uid=uids[1]), Protected)


async def test_a_pod_under_two_budgets_is_protected(api: ApiServer, namespace: str) -> None:
    uid = await running(api, namespace, "p")
    for name in ("one", "two"):
        await budget(api, namespace, "p", allowed=0, name=name)
    outcome = await evict(api, f"{namespace}/p", uid=uid)
    assert isinstance(outcome, Protected)
    assert "more than one PodDisruptionBudget" in outcome.message


async def test_no_budget_applies_to_a_pod_that_does_not_run(api: ApiServer, namespace: str) -> None:
    await make(api, PODS, namespace, pod("p"))
    await budget(api, namespace, "p", allowed=0)
    assert isinstance(await evict(api, f"{namespace}/p"), Done)


@pytest.mark.parametrize(
    "refusal",
    [
        Say(HTTPStatus.NOT_FOUND, "404 page not found"),
        Say(HTTPStatus.METHOD_NOT_ALLOWED, '{"kind":"Status","reason":"MethodNotAllowed","code":405}'),
    ],
    ids=["not found", "not allowed"],
)
async def test_where_there_are_no_evictions_the_pod_is_deleted(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str, refusal: Say
) -> None:
    proxy, through = faults
    uid = await running(api, namespace, "p")
    proxy.plan(refusal, method="POST", part="/eviction")
    assert isinstance(await evict(through, f"{namespace}/p", "team/train", uid), Done)
    assert (await there(api, PODS, f"{namespace}/p"))["metadata"]["deletionTimestamp"]


async def test_a_pod_on_its_way_out_can_be_neither_bound_nor_kept(api: ApiServer, namespace: str) -> None:
    await running(api, namespace, "p")
    assert isinstance(await evict(api, f"{namespace}/p"), Done)
    assert isinstance(await bind(api, f"{namespace}/p", "n"), Conflict)
    assert isinstance(await evict(api, f"{namespace}/p"), Done), "a second time"


async def running(api: ApiServer, namespace: str, name: str, app: str = "") -> str:
    """Make a pod that runs and is ready; give its uid."""
    document = pod(name, nodeName=await make_node(api))
    document["metadata"]["labels"] = {"app": app or name}
    made = await make(api, PODS, namespace, document)
    assert isinstance(await patch_status(api, PODS, f"{namespace}/{name}", READY), Done)
    uid = made["metadata"]["uid"]
    assert isinstance(uid, str)
    return uid


async def budget(api: ApiServer, namespace: str, app: str, allowed: int, name: str = "b") -> None:
    """Make a budget for the pods of an application, and wait until it has been counted."""
    document: Json = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
    }
    await make(api, BUDGETS, namespace, document)

    async def is_counted() -> bool:
        status = (await there(api, BUDGETS, f"{namespace}/{name}")).get("status", {})
        is_current = status.get("observedGeneration") == 1
        return bool(is_current and status.get("disruptionsAllowed", 0) == allowed)

    await until_async(f"the budget is counted as allowing {allowed}", is_counted)
