"""Ports of hosts: which are taken where, and by which address."""

from collections.abc import Iterable, Iterator
from typing import Final

from maar.core.fairshare.water_fill import Flags
from maar.core.tables.shapes import Port

ALL_ADDRESSES: Final = ""


class HostPorts:
    """The nodes on which a port is taken; a port on all addresses collides with one on any."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, int], dict[str, dict[int, int]]] = {}  # address -> node -> pods

    def count(self, ports: Iterable[Port], node: int, sign: int) -> None:
        """Take ports on a node (+1) or give them back (-1)."""
        for address, protocol, number in ports:
            by_address = self._taken.setdefault((protocol, number), {})
            nodes = by_address.setdefault(address, {})
            nodes[node] = nodes.get(node, 0) + sign
            if not nodes[node]:
                del nodes[node]
            if not nodes:
                del by_address[address]
            if not by_address:
                del self._taken[protocol, number]

    def narrow(self, mask: Flags, ports: Iterable[Port]) -> None:
        """Leave out the nodes where one of these ports is taken."""
        for port in ports:
            for nodes in self._colliding(port):
                mask[list(nodes)] = False

    def why_not(self, ports: Iterable[Port], node: int) -> str:
        """The port that is taken on a node, as a clause; empty where none is."""
        for port in ports:
            if any(node in nodes for nodes in self._colliding(port)):
                return f"have no free host port {port[2]}/{port[1]}"
        return ""

    def _colliding(self, port: Port) -> Iterator[dict[int, int]]:
        address, protocol, number = port
        for taken, nodes in self._taken.get((protocol, number), {}).items():
            if address in (taken, ALL_ADDRESSES) or taken == ALL_ADDRESSES:
                yield nodes
