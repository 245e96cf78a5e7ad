"""The nodes in order, and labels and other properties of them as columns, made when they are first read."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from maar.core.fairshare.water_fill import Flags
from maar.core.model.node import Taint
from maar.core.tables.rows import NodeRow

Codes = npt.NDArray[np.intp]

_MOST_LABELS: Final = 256  # beyond that, forgotten and made again


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of values as numbers: equal values have equal codes. Axis letter: D distinct values."""

    codes: Codes  # [N] those without a value have the code D
    code_of: dict[str, int]  # [D]

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Self:
        """Number values in the order in which they first come."""
        code_of: dict[str, int] = {}
        listed = [-1 if value is None else code_of.setdefault(value, len(code_of)) for value in values]
        codes = np.array(listed, np.intp)
        codes[codes < 0] = len(code_of)
        return cls(codes, code_of)

    @property
    def missing(self) -> int:
        """The code of those without a value; a table by code has one place for it, the last."""
        return len(self.code_of)

    def __getitem__(self, node: int) -> int:
        return int(self.codes[node])

    def had_by(self, nodes: Flags) -> npt.NDArray[np.intp]:
        """The codes of the values that some nodes have, each once."""
        is_had = np.zeros(self.missing + 1, np.bool_)
        is_had[self.codes[nodes]] = True
        return np.flatnonzero(is_had[:-1])


class NodeColumns(tuple[NodeRow, ...]):  # noqa: SLOT001 (its columns are kept beside the rows)
    """The nodes, in order, and columns of what they say; the tables make new ones when a node changes."""

    @cached_property
    def usable(self) -> Flags:
        """The nodes that pods may be placed on. [N]"""
        return np.array([node.is_usable for node in self], np.bool_)

    @cached_property
    def ready(self) -> Flags:
        """The nodes whose kubelet says that they are ready. [N]"""
        return np.array([node.is_ready for node in self], np.bool_)

    @cached_property
    def names(self) -> Coded:
        """The names of the nodes."""
        return Coded.of(node.name for node in self)

    @cached_property
    def taints(self) -> tuple[npt.NDArray[np.intp], tuple[tuple[Taint, ...], ...]]:
        """The number of every node's taints [N], and the taints by number."""
        number_of: dict[tuple[Taint, ...], int] = {}
        numbers = [number_of.setdefault(node.taints, len(number_of)) for node in self]
        return np.array(numbers, np.intp), tuple(number_of)

    def label(self, key: str) -> Coded:
        """The values that nodes have for a label."""
        column = self._labels.get(key)
        if column is None:
            if len(self._labels) >= _MOST_LABELS:
                self._labels.clear()
            column = self._labels[key] = Coded.of([node.labels.get(key) for node in self])
        return column

    @cached_property
    def _labels(self) -> dict[str, Coded]:
        return {}
