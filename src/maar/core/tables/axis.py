"""The resource axis: every resource name has a row, the same in every table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from maar.core.model.resources import CPU, MEMORY, PODS, Resources

Needs = tuple[tuple[int, int], ...]  # (resource row, amount) of what is asked for, and only that

_FIRST: Final = (CPU, MEMORY, PODS)
PODS_ROW: Final = _FIRST.index(PODS)
_MOST_KNOWN: Final = 10_000  # requests whose needs are kept
LARGEST_REQUEST: Final = 2**48  # more than any node has; a sum of many still fits in 64 bits


def times(needs: Needs, count: int) -> Needs:
    """What so many need together."""
    return needs if count == 1 else tuple([(row, amount * count) for row, amount in needs])


@dataclass
class ResourceAxis:
    """Rows by resource name; it only ever grows."""

    names: list[str] = field(default_factory=lambda: list(_FIRST))
    row: dict[str, int] = field(default_factory=lambda: {name: row for row, name in enumerate(_FIRST)})

    _needs: dict[Resources, Needs] = field(default_factory=dict)
    _named: dict[object, Resources] = field(default_factory=dict)

    def needs(self, amounts: Resources) -> Needs:
        """Lay amounts out on the axis; what is 0 asks for nothing."""
        needs = self._needs.get(amounts)
        if needs is None:
            asked = [(name, amount) for name, amount in sorted(amounts.items()) if amount]
            needs = tuple((self._row_of(name), min(amount, LARGEST_REQUEST)) for name, amount in asked)
            if len(self._needs) < _MOST_KNOWN:
                self._needs[amounts] = needs
        return needs

    def learn(self, names: Iterable[str]) -> None:
        """Give every resource a row that has none yet."""
        for name in names:
            self._row_of(name)

    def zeros(self) -> list[int]:
        """A column with nothing in it."""
        return [0] * len(self.names)

    def column(self, amounts: Mapping[str, int]) -> list[int]:
        """Lay amounts out as one number per resource of the axis."""
        rows = {self._row_of(name): amount for name, amount in amounts.items()}
        column = self.zeros()
        for row, amount in rows.items():
            column[row] = amount
        return column

    def amounts(self, column: Sequence[int], rows: tuple[int, ...] | None = None) -> Resources:
        """Give the amounts of a column their names back, of these rows or all; equal ones are one object."""
        key = (tuple(column), rows)
        known = self._named.get(key)
        if known is None:
            if len(self._named) >= _MOST_KNOWN:
                self._named.clear()
            shown = range(len(column)) if rows is None else rows
            known = self._named[key] = Resources(
                {self.names[row]: column[row] for row in shown if row < len(column)}
            )
        return known

    def _row_of(self, name: str) -> int:
        if name not in self.row:
            self.row[name] = len(self.names)
            self.names.append(name)
        return self.row[name]
