"""Requests that meet trouble on the way: tried again where that may help, and never done twice."""

import asyncio
import json
from http import HTTPStatus
from pathlib import Path

import pytest

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.outcome import Conflict, Done, Gone, Refused, Unanswered
from maar.kube.paths import PODS
from maar.kube.write import FENCED, bind, create, delete, evict, get, nominate, patch
from support.faults import Cut, Drop, Fault, Hang, Lose, Proxy, Say, proxy
from support.manifests import CONFIG_MAPS, config_map, make, make_node, pod, there
from support.until import until

pytestmark = pytest.mark.anyio

BUSY = Say(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests, please try again later.", {"Retry-After": "0"})
FAILING = Say(HTTPStatus.INTERNAL_SERVER_ERROR, json.dumps({"kind": "Status", "reason": "InternalError"}))
STARTING = Say(HTTPStatus.SERVICE_UNAVAILABLE, "apiserver not ready")


@pytest.mark.parametrize(
    "fault", [BUSY, FAILING, STARTING, Drop(), Lose(), Cut(0)], ids=lambda one: str(one)[:12]
)
async def test_what_fails_in_passing_is_asked_again(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str, fault: Fault
) -> None:
    passing, through = faults
    key = f"{namespace}/c"
    await make(api, CONFIG_MAPS, namespace, config_map("c", n="1"))
    passing.plan(fault, fault)
    assert isinstance(await get(through, CONFIG_MAPS, key), Done)
    passing.plan(fault, fault)
    assert isinstance(await patch(through, CONFIG_MAPS, key, {"data": {"n": "2"}}), Done)
    passing.plan(fault, fault)
    assert isinstance(await delete(through, CONFIG_MAPS, key), Done | Gone)
    assert isinstance(await get(api, CONFIG_MAPS, key), Gone)
    assert passing.is_spent


@pytest.mark.parametrize("fault", [BUSY, FAILING, STARTING, Drop(), Lose()], ids=lambda one: str(one)[:12])
async def test_a_bind_that_may_have_been_carried_out_is_looked_at(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str, fault: Fault
) -> None:
    passing, through = faults
    node, key = await make_node(api), f"{namespace}/p"
    uid = (await make(api, PODS, namespace, pod("p")))["metadata"]["uid"]
    passing.plan(fault, method="POST", part="/binding")
    assert isinstance(await bind(through, key, node, uid), Done)
    assert passing.is_spent
    assert (await there(api, PODS, key))["spec"]["nodeName"] == node


async def test_a_bind_that_somebody_else_has_done_meanwhile_is_a_conflict(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    passing, through = faults
    ours, theirs, key = await make_node(api), await make_node(api), f"{namespace}/p"
    await make(api, PODS, namespace, pod("p"))
    assert isinstance(await bind(api, key, theirs), Done)
    passing.plan(Lose(), method="POST", part="/binding")
    outcome = await bind(through, key, ours)
    assert isinstance(outcome, Conflict)
    assert outcome.may_be_ours
    assert (await there(api, PODS, key))["spec"]["nodeName"] == theirs


async def test_a_creation_that_went_unheard_is_found_again(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    passing, through = faults
    key = f"{namespace}/c"
    passing.plan(Lose(), method="POST")
    outcome = await create(through, CONFIG_MAPS, key, config_map("c", {"app": "x"}, n="1"))
    assert isinstance(outcome, Done)
    assert json.loads(outcome.body) == await there(api, CONFIG_MAPS, key)
    passing.plan(Lose(), method="POST")
    other = await create(through, CONFIG_MAPS, key, config_map("c", {"app": "x"}, n="2"))
    assert isinstance(other, Conflict), "that one is not what we sent"


async def test_an_eviction_that_went_unheard_is_done_once(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    passing, through = faults
    key = f"{namespace}/p"
    uid = (await make(api, PODS, namespace, pod("p", nodeName=await make_node(api))))["metadata"]["uid"]
    passing.plan(Lose(), method="PATCH")
    passing.plan(Lose(), method="POST", part="/eviction")
    assert isinstance(await evict(through, key, "team/train", uid), Done)
    assert passing.is_spent
    assert (await there(api, PODS, key))["metadata"]["deletionTimestamp"]


async def test_what_the_server_asks_us_to_wait_is_waited(
    api: ApiServer, faults: tuple[Proxy, ApiServer], namespace: str
) -> None:
    passing, through = faults
    await make(api, CONFIG_MAPS, namespace, config_map("c"))
    passing.plan(Say(HTTPStatus.TOO_MANY_REQUESTS, "later", {"Retry-After": "1"}))
    started = asyncio.get_running_loop().time()
    assert isinstance(await get(through, CONFIG_MAPS, f"{namespace}/c"), Done)
    assert asyncio.get_running_loop().time() - started >= 1


async def test_retries_end_at_the_time_limit(kubeconfig: Path, tmp_path: Path) -> None:
    async with (
        proxy(kubeconfig, tmp_path) as (passing, through),
        ApiServer(await load(through), retry_timeout_s=0) as impatient,
    ):
        for fault in (BUSY, FAILING, STARTING, Drop()):
            passing.plan(fault)
            outcome = await nominate(impatient, "any/pod", "n")
            assert isinstance(outcome, Unanswered), fault
        passing.plan(Say(HTTPStatus.TOO_MANY_REQUESTS, "later", {"Retry-After": "100"}))
        with pytest.raises(ApiError, match="later") as busy:
            await impatient.request("GET", PODS.all())
        assert busy.value.retry_after_s == 100
        assert passing.count("PATCH") == 4
        assert passing.is_spent


async def test_no_answer_in_time_is_no_answer(kubeconfig: Path, tmp_path: Path) -> None:
    async with (
        proxy(kubeconfig, tmp_path) as (passing, through),
        ApiServer(await load(through), retry_timeout_s=0) as impatient,
    ):
        passing.plan(Hang(), Hang())
        with pytest.raises(UnansweredError, match="check that it runs") as silence:
            await impatient.request("PATCH", PODS.one("any/pod"), None, b"{}", timeout_s=0.2)
        assert silence.value.may_be_done
        with pytest.raises(UnansweredError) as silence:
            async with impatient.stream(PODS.all(), {"watch": "true"}, 0.2):
                pytest.fail("nothing answers")


async def test_where_nobody_listens_nothing_was_sent(kubeconfig: Path, tmp_path: Path) -> None:
    async with proxy(kubeconfig, tmp_path) as (_, through):
        credentials = await load(through)
    async with ApiServer(credentials, retry_timeout_s=0.3) as unreachable:
        with pytest.raises(UnansweredError, match="kubeconfig has its address") as silence:
            await unreachable.request("POST", PODS.all("any"), None, b"{}")
        assert not silence.value.may_be_done
        outcome = await bind(unreachable, "any/pod", "n")
        assert isinstance(outcome, Unanswered)


async def test_a_former_leader_reads_but_does_not_write(
    api: ApiServer, kubeconfig: Path, tmp_path: Path, namespace: str
) -> None:
    leads, key = True, f"{namespace}/p"
    node = await make_node(api)
    await make(api, PODS, namespace, pod("p"))
    async with (
        proxy(kubeconfig, tmp_path) as (passing, through),
        ApiServer(await load(through), may_write=lambda: leads) as fenced,
    ):
        assert isinstance(await nominate(fenced, key, node), Done)
        passing.plan(*[STARTING] * 1_000, method="POST")
        binding = asyncio.create_task(bind(fenced, key, node))
        await until("it has tried", lambda: passing.count("POST") > 1)
        leads = False
        outcome = await binding
        assert isinstance(outcome, Refused)
        assert outcome.reason == FENCED
        tried = passing.count("POST")
        for one in (
            await bind(fenced, key, node),
            await evict(fenced, key, "team/train"),
            await patch(fenced, PODS, key, {}),
            await delete(fenced, PODS, key),
            await create(fenced, PODS, key, pod("p")),
        ):
            assert isinstance(one, Refused)
            assert one.reason == FENCED
        assert passing.count("POST") == tried
        assert passing.count("DELETE") == 0
        assert passing.count("PATCH") == 1
        assert isinstance(await get(fenced, PODS, key), Done)


async def test_connections_are_bounded_and_streams_have_their_own(
    kubeconfig: Path, tmp_path: Path, namespace: str
) -> None:
    async with (
        proxy(kubeconfig, tmp_path) as (passing, through),
        ApiServer(await load(through), connections=2) as narrow,
    ):
        passing.plan(Hang(), Hang(), part="/pods")
        stuck = [asyncio.create_task(narrow.request("GET", PODS.all(namespace))) for _ in range(2)]
        await until("both connections are taken", lambda: passing.count("GET", "/pods") == 2)
        waiting = asyncio.create_task(get(narrow, CONFIG_MAPS, f"{namespace}/c"))
        async with narrow.stream(PODS.all(namespace), {"watch": "true", "timeoutSeconds": "5"}, 20):
            assert passing.count("GET", "/configmaps") == 0
        for one in stuck:
            one.cancel()
        assert isinstance(await waiting, Gone)
