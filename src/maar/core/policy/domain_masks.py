"""Masks of nodes that follow from their domains: where a domain changes, only its nodes do.

Axis letter: D domains, that is distinct values of a node label.
"""

from functools import cached_property
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Flags
from maar.core.tables.node_columns import Coded, Codes

_MANY: Final = 8  # domains that change; from here on the whole mask is made again


class Domains:
    """The domains of a topology, and the nodes of each."""

    def __init__(self, coded: Coded) -> None:
        self.codes: Codes = coded.codes  # [N]
        self.missing = coded.missing  # the code of nodes without the label
        self.had_by = coded.had_by
        self._code_of: list[int] = coded.codes.tolist()  # one of them is found faster in a list

    def of(self, node: int) -> int:
        """The domain of a node."""
        return self._code_of[node]

    @cached_property
    def known(self) -> Flags:
        """The nodes that have a domain. [N]"""
        known: Flags = self.codes != self.missing
        return known

    def nodes(self, domain: int) -> Codes:
        """The nodes of a domain."""
        order, starts = self._by_domain
        return order[starts[domain] : starts[domain + 1]]

    @cached_property
    def _by_domain(self) -> tuple[Codes, list[int]]:
        """The nodes in the order of their domains [N], and where each domain begins there [D + 2]."""
        order = np.argsort(self.codes, kind="stable")
        return order, np.searchsorted(self.codes[order], np.arange(self.missing + 2)).tolist()


class DomainMask:
    """The nodes of some domains."""

    def __init__(self, domains: Domains, are_in: Flags) -> None:
        """Of the domains that are in it, a flag for each. [D + 1]"""
        self._domains, self._are_in = domains, are_in
        self.nodes: Flags = are_in[domains.codes]  # [N]

    def put(self, domain: int, *, is_in: bool) -> None:
        """Let a domain be in it, or not."""
        if self._are_in[domain] != is_in:
            self._are_in[domain] = is_in
            self.nodes[self._domains.nodes(domain)] = is_in

    def become(self, are_in: Flags) -> None:
        """Let these domains be in it, and no others. [D + 1]"""
        changed = (self._are_in != are_in).nonzero()[0].tolist()
        if len(changed) >= _MANY:
            self._are_in, self.nodes = are_in, are_in[self._domains.codes]
            return
        for domain in changed:
            self.put(domain, is_in=bool(are_in[domain]))
