"""The connections of a server: how many there may be, whose, and for how long one may wait without a request.

What costs nothing must not keep others out: a connection is anybody's, a request under way is not. So a new
connection takes the place of the one that has been without a request for longest: of the same peer where that
peer has its share, else of the peer that has most. Only where all of them have requests under way is it
refused, and then some more are taken, for probes: the server answers those beside the bound.
"""

import resource
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

HEAD_WITHIN_S: Final = 10.0  # from the beginning of a connection, TLS included
KEEP_ALIVE_S: Final = 75
_FOR_PROBES: Final = 16  # connections beyond the bound, of a peer and of all


@dataclass(frozen=True)
class Bounds:
    """How much of a server its clients may have."""

    connections: int
    of_one_peer: int
    probes: frozenset[str]  # paths that are answered however many requests are under way


@dataclass(eq=False)
class Visit:
    """One connection, from its beginning to its end."""

    line: socket.socket
    peer: "_Peer"
    since: float  # when it began, or when its last request was answered
    requests: int = 0  # under way
    is_known: bool = False  # the head of a request has come whole


@dataclass
class _Peer:
    host: str
    visits: dict[Visit, None] = field(default_factory=dict)  # what was used last is last
    busy: int = 0  # those with requests under way


class Visits:
    """All connections of a server."""

    def __init__(self, bounds: Bounds, now: Callable[[], float] = time.monotonic) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = min(bounds.connections, files // 2)  # a process without files takes no connection at all
        self._most_of_one = min(bounds.of_one_peer, self._most)
        self._probes = bounds.probes
        self._now = now
        self._peers: dict[str, _Peer] = {}
        self._count = self._busy = 0

    def admit(self, line: socket.socket, host: str) -> Visit | None:
        """Take a new connection; None where there is no room for it."""
        peer = self._peers.get(host) or _Peer(host)
        crowd, excess = peer, len(peer.visits) - self._most_of_one
        if excess < 0 and self._count >= self._most:
            crowd = max(self._peers.values(), key=lambda one: len(one.visits))
            excess = self._count - self._most
        if excess >= 0 and not self._make_room(crowd) and excess >= _FOR_PROBES:
            return None
        visit = Visit(line, peer, self._now())
        self._peers[host] = peer
        peer.visits[visit] = None
        self._count += 1
        return visit

    def leave(self, visit: Visit) -> None:
        """A connection has ended, or is as good as ended."""
        peer = visit.peer
        if visit in peer.visits:
            del peer.visits[visit]
            self._count -= 1
            self._change_busy(peer, -bool(visit.requests))
            if not peer.visits:
                del self._peers[peer.host]

    def begin(self, visit: Visit) -> None:
        """A request is under way."""
        if visit in visit.peer.visits and not visit.requests:
            self._change_busy(visit.peer, 1)
        visit.requests += 1
        visit.is_known = True

    def end(self, visit: Visit) -> None:
        """A request has been answered."""
        visit.requests -= 1
        if visit in visit.peer.visits and not visit.requests:
            self._change_busy(visit.peer, -1)
            visit.since = self._now()
            visit.peer.visits[visit] = visit.peer.visits.pop(visit)  # to the end

    def is_full(self, visit: Visit, path: str) -> bool:
        """Whether a request is one too many: of this peer, or of all; probes never are."""
        is_over = visit.peer.busy > self._most_of_one or self._busy > self._most
        return is_over and path not in self._probes

    def cut_late(self) -> None:
        """End the connections that have been without a request for too long."""
        now = self._now()
        for visit in [one for peer in self._peers.values() for one in peer.visits if not one.requests]:
            if now - visit.since > (KEEP_ALIVE_S if visit.is_known else HEAD_WITHIN_S):
                self._cut(visit)

    def __len__(self) -> int:
        return self._count

    def _make_room(self, peer: _Peer) -> bool:
        """End the connection of a peer that has been without a request for longest."""
        idle = next((one for one in peer.visits if not one.requests), None)
        if idle is not None:
            self._cut(idle)
        return idle is not None

    def _cut(self, visit: Visit) -> None:
        """End a connection; what serves it hears of that as if the client had gone."""
        with suppress(OSError):
            visit.line.shutdown(socket.SHUT_RDWR)
        self.leave(visit)

    def _change_busy(self, peer: _Peer, by: int) -> None:
        peer.busy += by
        self._busy += by
