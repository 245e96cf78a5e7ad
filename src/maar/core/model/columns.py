"""Answers as columns: plain dictionaries, and tables of pandas or Arrow if installed."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any


class Columns:
    """An answer that can be taken apart into tables; a column is a list or an array."""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The columns by name, table by table."""
        raise NotImplementedError

    def to_pandas(self) -> dict[str, Any]:
        """A DataFrame of pandas for each table."""
        frame = _installed("pandas").DataFrame
        return {name: frame(table) for name, table in self.to_dict().items()}

    def to_arrow(self) -> dict[str, Any]:
        """A Table of Arrow for each table."""
        table = _installed("pyarrow").table
        return {name: table(columns) for name, columns in self.to_dict().items()}

    @staticmethod
    def of_rows(names: Sequence[str], rows: Iterable[Sequence[object]]) -> dict[str, Any]:
        """Rows as columns by name."""
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _installed(library: str) -> Any:  # noqa: ANN401  # a module that may not be there
    try:
        return import_module(library)
    except ImportError:
        raise ImportError(f"{library} is not installed: pip install {library}, or use to_dict()") from None
