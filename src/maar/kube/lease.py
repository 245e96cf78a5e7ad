"""One leader at a time: a Lease is held by renewing it.

The holder counts from before it sent its last renewal, and others from when they saw it, and
longer: it stops writing while they still wait. A holder that could not renew in time (the API
server does not answer, or this process got no processor) does not know whether another holds the
lease by now. It has *lapsed*: it writes nothing and goes on trying. A renewal names the version
that it wrote last, so that it succeeds only where no other process has written the lease since;
then no other can have led, and the holder goes on. A holder that finds the lease written by another
has lost it for good: what it knows of its own writes may be wrong.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from maar.core.model.metadata import Record
from maar.kube.api_server import ApiServer
from maar.kube.credentials import Credentials
from maar.kube.outcome import Conflict, Done, Gone, Outcome
from maar.kube.paths import LEASES
from maar.kube.retry import jittered
from maar.kube.write import create, get, patch


@dataclass(frozen=True)
class LeaseTiming:
    """How long a lease holds, when its holder stops at the latest, and how often it is looked at."""

    duration_s: int = 10  # others wait that long after the last sign of life they saw
    hold_s: float = 7.0  # the holder counts from before it gave the sign: it stops while others still wait
    retry_s: float = 2.0

    @property
    def renewal_s(self) -> float:
        """How long an attempt to renew in time may take: a busy server answers late, and two must fit in."""
        return (self.hold_s - self.retry_s) * 0.45


STANDARD: Final = LeaseTiming()  # a standby leads within 12 s of the last sign of life


class Term:
    """The time in which this process leads; it may lapse and be renewed, but once over it stays over."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._over = asyncio.Event()
        self.successor = ""  # the holder of the lease after this process has lost it, if any

    @property
    def has_started(self) -> bool:
        """Whether this process leads, or has led."""
        return self._until is not None

    def holding(self) -> bool:
        """Whether this process leads now, by its own clock: it stops without having to receive anything."""
        return self._until is not None and time.monotonic() < self._until and not self._over.is_set()

    @property
    def is_over(self) -> bool:
        """Whether this process has lost the lease for good."""
        return self._over.is_set()

    async def lost(self) -> None:
        """Wait until the term is over."""
        await self._over.wait()

    def extend(self, until: float) -> None:
        """Extend the term; a term that is over stays over."""
        self._until = until

    def end(self, successor: str = "") -> None:
        """End the term."""
        self.successor = self.successor or successor
        self._over.set()


@asynccontextmanager
async def lead(
    credentials: Credentials,
    key: str,
    identity: str,
    timing: LeaseTiming = STANDARD,
    report: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Term]:
    """Wait until this process leads, then renew the lease; at the end release it at once.

    `report` gets who leads while this process waits, and why the lease cannot be taken, once each.
    """
    # Its own connection: a renewal waits for no other write. And no second attempts: the next comes anyway.
    async with ApiServer(credentials, connections=1, retry_timeout_s=0) as server:
        claim = _Claim(server, key, identity, timing, report)
        await claim.win()
        renewing = asyncio.create_task(claim.renew())
        try:
            yield claim.term
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            await claim.release()
            if not renewing.cancelled():
                renewing.result()


class _Spec(Record, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None


class _Version(Record, frozen=True):
    resource_version: str = ""


class _Lease(Record, frozen=True):
    metadata: _Version = _Version()
    spec: _Spec = _Spec()


_LEASE: Final = msgspec.json.Decoder(_Lease)


class _Claim:
    """What one process does to get a lease and to keep it."""

    def __init__(
        self, server: ApiServer, key: str, identity: str, timing: LeaseTiming, report: Callable[[str], None]
    ) -> None:
        self._server, self._key, self._identity, self._timing = server, key, identity, timing
        self._report, self._reported = report, ""
        self._seen, self._since = "", 0.0  # the lease's resource version, and since when it is the same
        self._ours = ""  # the version that we wrote last
        self._has_lapsed = False
        self.term = Term()

    async def acquire_or_renew(self) -> bool:
        """Take the lease if it is free, renew it if held; give whether this process leads."""
        retry_timeout_s = self._attempt_timeout_s()
        try:
            async with asyncio.timeout(retry_timeout_s):
                return await (self._renew() if self.term.has_started else self._acquire())
        except TimeoutError:
            self._report_once(f"lease {self._key}: the API server gave no answer in {retry_timeout_s:g} s")
            return False

    def _attempt_timeout_s(self) -> float:
        """How long an attempt may take; once the lease has lapsed there is no hurry any more."""
        if not self.term.has_started:
            return self._timing.retry_s
        return self._timing.renewal_s if self.term.holding() else self._timing.duration_s

    async def win(self) -> None:
        """Try until this process holds the lease."""
        while True:
            if await self.acquire_or_renew():
                return
            await asyncio.sleep(jittered(self._timing.retry_s))

    async def renew(self) -> None:
        """Renew until the term is over."""
        pause_s = self._timing.retry_s
        try:
            while not self.term.is_over:
                await asyncio.sleep(pause_s)
                self._notice_lapse()
                is_renewed = await self.acquire_or_renew()
                # After an attempt that failed in time, time is short.
                is_urgent = not is_renewed and self.term.holding()
                pause_s = self._timing.retry_s / 10 if is_urgent else self._timing.retry_s
        finally:
            self.term.end()

    def _notice_lapse(self) -> None:
        if not self.term.holding() and not self._has_lapsed:
            self._has_lapsed = True
            limit_s = self._timing.hold_s
            self._report_once(
                f"lease {self._key}: not renewed within {limit_s:g} s; nothing is written until it is"
            )

    async def release(self) -> None:
        """Release the lease, unless another process holds it by now."""
        self.term.end()
        metadata = {"resourceVersion": self._ours}
        free = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.retry_s):
                await patch(self._server, LEASES, self._key, {"metadata": metadata, "spec": free})

    async def _renew(self) -> bool:
        """Renew, in one request unless the lease has changed since the last write."""
        asked_at = time.monotonic()
        change = {
            "metadata": {"resourceVersion": self._ours},
            "spec": self._signed(_Spec(holder_identity=self._identity)),
        }
        outcome = await patch(self._server, LEASES, self._key, change)
        return (
            await self._acquire() if isinstance(outcome, Conflict | Gone) else self._hold(asked_at, outcome)
        )

    async def _acquire(self) -> bool:
        found = await get(self._server, LEASES, self._key)
        asked_at = time.monotonic()
        if isinstance(found, Gone):
            if self.term.has_started and not self.term.holding():
                self.term.end()  # others may have led and gone meanwhile
                return False
            _, name = LEASES.split(self._key)
            document = {"metadata": {"name": name}, "spec": self._signed(_Spec())}
            return self._hold(asked_at, await create(self._server, LEASES, self._key, document))
        if not isinstance(found, Done):
            return self._fail(found)
        lease = _LEASE.decode(found.body)
        if lease.metadata.resource_version != self._seen:
            self._seen, self._since = lease.metadata.resource_version, asked_at
        if not self._is_ours_to_take(lease.spec, asked_at):
            return False
        metadata = {"resourceVersion": self._seen}
        change = {"metadata": metadata, "spec": self._signed(lease.spec)}
        return self._hold(asked_at, await patch(self._server, LEASES, self._key, change))

    def _is_ours_to_take(self, spec: _Spec, now: float) -> bool:
        if spec.holder_identity == self._identity:
            return True
        if self.term.has_started:
            self.term.end(spec.holder_identity or "")
            return False
        duration_s = spec.lease_duration_seconds or self._timing.duration_s
        if not spec.holder_identity or now >= self._since + duration_s:
            return True
        self._report_once(f"{spec.holder_identity} leads; standing by")
        return False

    def _hold(self, asked_at: float, outcome: Outcome) -> bool:
        if not isinstance(outcome, Done):
            return self._fail(outcome)
        self._reported = ""
        self._ours = _LEASE.decode(outcome.body).metadata.resource_version
        self.term.extend(asked_at + self._timing.hold_s)
        if self._has_lapsed and self.term.holding():
            self._has_lapsed = False
            self._report(
                f"lease {self._key}: renewed; no other process has held it, and this process goes on"
            )
        return self.term.holding()

    def _fail(self, outcome: Outcome) -> bool:
        if not isinstance(outcome, Conflict):  # then another process holds it; the next attempt shows which
            self._report_once(f"lease {self._key}: {getattr(outcome, 'message', outcome)}")
        return False

    def _report_once(self, message: str) -> None:
        if message != self._reported:  # once: it is tried every few seconds
            self._reported = message
            self._report(message)

    def _signed(self, before: _Spec) -> dict[str, object]:
        now = _now()
        spec: dict[str, object] = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._timing.duration_s,
            "renewTime": now,
        }
        if before.holder_identity != self._identity:
            spec |= {"acquireTime": now, "leaseTransitions": (before.lease_transitions or 0) + 1}
        return spec


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
