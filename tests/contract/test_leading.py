"""One leader at a time, by a lease: taken, renewed, handed over, and lost before another takes it."""

import asyncio
import signal
import sys
import time
from pathlib import Path

import pytest

from maar.kube.api_server import ApiServer
from maar.kube.credentials import Credentials, load
from maar.kube.lease import STANDARD, Term, lead
from maar.kube.outcome import Done
from maar.kube.paths import LEASES
from maar.kube.write import FENCED, delete, patch
from support import leader
from support.faults import Drop, Hang, Lose, proxy
from support.manifests import CONFIG_MAPS, config_map, make, there
from support.until import TIMEOUT_S, until, until_async

pytestmark = pytest.mark.anyio

LEADER = Path(leader.__file__)
QUICK = leader.TIMING


class Candidate:
    """A process that would lead; it stays for as long as it is let."""

    def __init__(
        self, credentials: Credentials, key: str, identity: str, rival: "Candidate | None" = None
    ) -> None:
        self._credentials, self._key, self._identity, self._rival = credentials, key, identity, rival
        self.term: Term | None = None
        self.had_rival = False  # when it began to lead
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with lead(self._credentials, self._key, self._identity, QUICK) as self.term:
            self.had_rival = self._rival is not None and self._rival.leads
            await self._leave.wait()

    @property
    def leads(self) -> bool:
        """Whether it may write now."""
        return self.term is not None and self.term.holding()

    async def leave(self) -> None:
        """End in good order."""
        self._leave.set()
        await self._task


async def test_a_standby_leads_when_the_leader_leaves(
    api: ApiServer, kubeconfig: Path, namespace: str
) -> None:
    key, credentials = f"{namespace}/maar", await load(kubeconfig)
    first = Candidate(credentials, key, "first")
    await until("it leads", lambda: first.leads)
    second = Candidate(credentials, key, "second")
    spec = (await there(api, LEASES, key))["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("first", 2, 1)

    async def is_renewed() -> bool:
        return bool((await there(api, LEASES, key))["spec"]["renewTime"] > spec["renewTime"])

    await until_async("it is renewed", is_renewed)
    assert first.leads
    assert not second.leads
    await first.leave()
    assert not first.leads
    await until("the other leads", lambda: second.leads)
    spec = (await there(api, LEASES, key))["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("second", 2)
    await second.leave()
    assert (await there(api, LEASES, key))["spec"].get("holderIdentity", "") == ""


async def test_a_leader_that_is_cut_off_stops_before_another_starts(
    kubeconfig: Path, tmp_path: Path, namespace: str
) -> None:
    key = f"{namespace}/maar"
    async with proxy(kubeconfig, tmp_path) as (passing, through):
        first = Candidate(await load(through), key, "first")
        await until("it leads", lambda: first.leads)
        second = Candidate(await load(kubeconfig), key, "second", rival=first)
        assert first.term is not None
        passing.plan(*[Hang()] * 50)
        await until("it stops writing", lambda: not first.leads)
        assert not second.leads, "it still waits"
        await until("the other leads", lambda: second.leads)
        assert not second.had_rival
        assert not first.term.is_over, "it does not know yet"
        passing.mend()
        async with asyncio.timeout(TIMEOUT_S):
            await first.term.lost()
        assert first.term.successor == "second"
        await first.leave()
        assert second.leads, "who is no longer the leader cannot give the lease away"
        await second.leave()


async def test_a_term_that_is_over_does_not_come_back(
    api: ApiServer, kubeconfig: Path, namespace: str
) -> None:
    key = f"{namespace}/maar"
    async with lead(await load(kubeconfig), key, "first", QUICK) as term:
        assert term.holding()
        taken = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 2}}
        assert isinstance(await patch(api, LEASES, key, taken), Done)
        async with asyncio.timeout(TIMEOUT_S):
            await term.lost()
        assert not term.holding()
        assert (await there(api, LEASES, key))["spec"]["holderIdentity"] == "thief"
    assert (await there(api, LEASES, key))["spec"]["holderIdentity"] == "thief"


async def test_answers_that_go_astray_do_not_end_a_term(
    api: ApiServer, kubeconfig: Path, tmp_path: Path, namespace: str
) -> None:
    key = f"{namespace}/maar"
    async with proxy(kubeconfig, tmp_path) as (passing, through):
        passing.plan(Lose(), method="POST")
        async with lead(await load(through), key, "first", QUICK) as term:
            passing.plan(Lose(), Drop(), method="PATCH")
            passing.plan(Drop(), method="GET")
            await until("all of it has happened", lambda: passing.is_spent)
            renewals = passing.count("PATCH")
            await until("it is renewed", lambda: passing.count("PATCH") > renewals)
            assert term.holding()
            await delete(api, LEASES, key)
            await until("it is made anew", lambda: passing.count("POST") > 1)
            assert term.holding()


async def test_a_leader_that_was_stopped_writes_nothing_when_it_goes_on(
    api: ApiServer, kubeconfig: Path, namespace: str
) -> None:
    lease, key = f"{namespace}/maar", f"{namespace}/c"
    await make(api, CONFIG_MAPS, namespace, config_map("c", n="0"))
    process = await asyncio.create_subprocess_exec(
        sys.executable, LEADER, kubeconfig, lease, key, stdout=asyncio.subprocess.PIPE
    )

    async def is_writing() -> bool:
        return int((await there(api, CONFIG_MAPS, key))["data"]["n"]) > 10

    await until_async("it writes", is_writing)
    process.send_signal(signal.SIGSTOP)
    async with asyncio.timeout(TIMEOUT_S), lead(await load(kubeconfig), lease, "standby", QUICK) as term:
        last = await there(api, CONFIG_MAPS, key)
        process.send_signal(signal.SIGCONT)
        reported, _ = await process.communicate()
        *refusals, last_word = reported.decode().split("\n")[:-1]
        assert (process.returncode, last_word) == (0, "lost to standby")
        assert set(refusals) <= {FENCED}
        # What it had begun to send when it was stopped may still arrive; it begins nothing new.
        now = await there(api, CONFIG_MAPS, key)
        assert int(now["data"]["n"]) - int(last["data"]["n"]) <= 1
        assert term.holding()


async def test_a_leader_that_was_stopped_goes_on_where_nobody_took_its_place(
    api: ApiServer, kubeconfig: Path, namespace: str
) -> None:
    lease, key = f"{namespace}/maar", f"{namespace}/c"
    await make(api, CONFIG_MAPS, namespace, config_map("c", n="0"))
    process = await asyncio.create_subprocess_exec(
        sys.executable, LEADER, kubeconfig, lease, key, stdout=asyncio.subprocess.PIPE
    )

    async def written() -> int:
        return int((await there(api, CONFIG_MAPS, key))["data"]["n"])

    async def goes_on() -> bool:
        return await written() > before + 10

    try:
        before = 0
        await until_async("it writes", goes_on)
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(QUICK.duration_s + 1)
        before = await written()
        process.send_signal(signal.SIGCONT)
        await until_async("it writes again", goes_on)
        spec = (await there(api, LEASES, lease))["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("stopped", 1)
    finally:
        process.kill()
        reported, _ = await process.communicate()
    assert set(reported.decode().split()) == {FENCED}, "it wrote nothing before the lease was renewed"


async def test_a_leader_that_gets_no_processor_goes_on_with_its_own_lease(
    kubeconfig: Path, namespace: str
) -> None:
    reports = list[str]()
    async with lead(await load(kubeconfig), f"{namespace}/maar", "first", QUICK, reports.append) as term:
        time.sleep(QUICK.duration_s + 1)  # noqa: ASYNC251  # as on a machine that has no time for us
        assert not term.holding()
        await until("it is renewed", term.holding)
        assert not term.is_over
    # On a busy machine single attempts fail besides.
    assert [words.partition(": ")[2] for words in reports if "gave no answer" not in words][:2] == [
        "not renewed within 1.2 s; nothing is written until it is",
        "renewed; no other process has held it, and this process goes on",
    ]


async def test_a_lease_that_lapsed_and_was_deleted_is_lost(
    api: ApiServer, kubeconfig: Path, tmp_path: Path, namespace: str
) -> None:
    """Others may have held it, written, and gone."""
    key = f"{namespace}/maar"
    async with (
        proxy(kubeconfig, tmp_path) as (passing, through),
        lead(await load(through), key, "first", QUICK) as term,
    ):
        passing.plan(*[Hang()] * 50)
        await until("it has lapsed", lambda: not term.holding())
        await delete(api, LEASES, key)
        passing.mend()
        async with asyncio.timeout(TIMEOUT_S):
            await term.lost()
        assert not term.holding()


def test_a_standby_leads_within_fifteen_seconds() -> None:
    polling, asking = STANDARD.retry_s, STANDARD.retry_s
    assert STANDARD.duration_s + polling + asking < 15
    assert STANDARD.hold_s + STANDARD.retry_s < STANDARD.duration_s, "writes on their way arrive before"
