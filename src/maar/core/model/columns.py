"""Answers as columns: plain dictionaries, and tables of pandas or Arrow where those are installed."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

Tables = dict[str, dict[str, Any]]  # by table and column; a column is a list or an array


class Columns:
    """An answer that can be taken apart into tables."""

    def to_dict(self) -> Tables:
        """The columns by name, table by table."""
        raise NotImplementedError

    def to_pandas(self) -> dict[str, Any]:
        """A DataFrame of pandas for each table."""
        frame = _installed("pandas").DataFrame
        return {name: frame(table) for name, table in self.to_dict().items()}

    def to_arrow(self) -> dict[str, Any]:
        """A Table of Arrow for each table."""
        arrow = _installed("pyarrow").table
        return {name: arrow(table) for name, table in self.to_dict().items()}


def columns(names: Sequence[str], rows: Iterable[Sequence[object]]) -> dict[str, Any]:
    """Rows as columns by name."""
    transposed = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: list(column) for name, column in zip(names, transposed, strict=True)}


def _installed(library: str) -> Any:  # noqa: ANN401  # a module that may not be there
    try:
        return import_module(library)
    except ImportError:
        raise ImportError(f"{library} is not installed: pip install {library}, or use to_dict()") from None
