"""The connections of a server: how many there may be, whose, and for how long one may wait without a request.

What costs nothing must not keep others out: a connection is anybody's, a request under way is not.
Under way is a request that has come whole, body included, from a client that reads its answers. So
a new connection takes the place of the one that has been without such a request for longest: of the
same peer where that peer has its share, else of the peer that has most. Only where all of them have
requests under way is it refused, and then some more are taken, for probes: the server answers those
beside the bound.

Bodies that have not come whole are bounded together: where they are too many bytes, the connection
with most of them ends.
"""

import resource
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

HEAD_WITHIN_S: Final = 10.0  # from the beginning of a connection, TLS included
KEEP_ALIVE_S: Final = 75
_FOR_PROBES: Final = 16  # connections beyond the bound, of a peer and of all
MOST_HELD: Final = 64 << 20  # bytes of bodies that have not come whole, of all connections
_AT_ONCE: Final = struct.pack("ii", 1, 0)  # for SO_LINGER: what has not been sent is thrown away


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
    since: float  # when it began, a head came whole, or the last request was answered
    requests: int = 0  # that have come whole and are not answered
    held: int = 0  # bytes of a body that has not come whole
    is_known: bool = False  # the head of a request has come whole
    is_stalled: bool = False  # its client does not read what is sent
    is_busy: bool = False  #: requests > 0 and not is_stalled, while it is among the visits of its peer


@dataclass
class _Peer:
    host: str
    visits: dict[Visit, None] = field(default_factory=dict)  # what was used last is last
    busy: int = 0  #: how many of them are busy


class Visits:
    """All connections of a server."""

    def __init__(self, bounds: Bounds, now: Callable[[], float] = time.monotonic) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = min(bounds.connections, files // 2)  # a process without files takes no connection at all
        self._most_of_one = min(bounds.of_one_peer, self._most)
        self._probes = bounds.probes
        self._now = now
        self._peers: dict[str, _Peer] = {}
        self._holding = set[Visit]()  # those with a part of a body
        self._count = self._busy = self._held = 0

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
            self._release(visit)
            del peer.visits[visit]
            self._count -= 1
            if visit.is_busy:
                self._change_busy(visit)
            if not peer.visits:
                del self._peers[peer.host]

    def know(self, visit: Visit) -> None:
        """The head of a request has come whole."""
        visit.is_known = True
        self._use(visit)

    def hold(self, visit: Visit, size: int) -> None:
        """A part of a body has come, and more is to come."""
        if visit not in visit.peer.visits:
            return
        self._holding.add(visit)
        visit.held += size
        self._held += size
        if self._held > MOST_HELD:
            self._cut(max(self._holding, key=lambda one: one.held))

    def begin(self, visit: Visit) -> None:
        """A request has come whole, and is under way."""
        self._release(visit)
        visit.requests += 1
        self._look(visit)

    def end(self, visit: Visit) -> None:
        """A request has been answered; one without a whole body may be answered too."""
        if visit.requests:
            visit.requests -= 1
        else:
            self._release(visit)
        self._look(visit)
        if not visit.requests:
            self._use(visit)

    def stall(self, visit: Visit, *, is_stalled: bool) -> None:
        """A client reads its answers no more, or again."""
        visit.is_stalled = is_stalled
        self._look(visit)

    def is_full(self, visit: Visit, path: str) -> bool:
        """Whether a request is one too many: of this peer, or of all; probes never are."""
        others_of_peer, others = visit.peer.busy - visit.is_busy, self._busy - visit.is_busy
        is_over = others_of_peer >= self._most_of_one or others >= self._most
        return is_over and path not in self._probes

    def cut_late(self) -> None:
        """End the connections that have been without a whole request for too long."""
        now = self._now()
        for visit in [one for peer in self._peers.values() for one in peer.visits if not one.requests]:
            if now - visit.since > (KEEP_ALIVE_S if visit.is_known else HEAD_WITHIN_S):
                self._cut(visit)

    def __len__(self) -> int:
        return self._count

    def _make_room(self, peer: _Peer) -> bool:
        """End the connection of a peer that has been without a request under way for longest."""
        idle = next((one for one in peer.visits if not one.is_busy), None)
        if idle is not None:
            self._cut(idle)
        return idle is not None

    def _cut(self, visit: Visit) -> None:
        """End a connection; what serves it hears of that as if the client had gone."""
        with suppress(OSError):
            if visit.is_stalled:
                visit.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            visit.line.shutdown(socket.SHUT_RDWR)
        self.leave(visit)

    def _release(self, visit: Visit) -> None:
        self._holding.discard(visit)
        self._held -= visit.held
        visit.held = 0

    def _use(self, visit: Visit) -> None:
        """Have a connection be the last to give way."""
        visit.since = self._now()
        if visit in visit.peer.visits:
            visit.peer.visits[visit] = visit.peer.visits.pop(visit)  # to the end

    def _look(self, visit: Visit) -> None:
        if visit in visit.peer.visits and visit.is_busy != (visit.requests > 0 and not visit.is_stalled):
            self._change_busy(visit)

    def _change_busy(self, visit: Visit) -> None:
        visit.is_busy = not visit.is_busy
        by = 1 if visit.is_busy else -1
        visit.peer.busy += by
        self._busy += by
