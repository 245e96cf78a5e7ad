"""Tables: what `kubectl get` shows of objects, one row for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from maar.core.model.durations import age
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.resources import Column, Resource
from maar.embedded.rows import BUILT_IN_ROWS

Include = Literal["None", "Metadata", "Object"]

_NAME: Final = Column("Name", ".metadata.name", format="name", description="The name of the object.")
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date", "The time since the object was made.")


class Tables:
    """Renders objects of one resource as rows."""

    def __init__(self, resource: Resource, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begins_with_name = resource.qualified != "events"  # their names say nothing
        built_in = BUILT_IN_ROWS.get(resource.qualified)
        if built_in is None:
            shown = resource.columns or (_AGE,)
            self._columns: Sequence[Column] = (_NAME, *(one for one in shown if one.name != "Name"))
            self._cells: Callable[[Json, float], list[object]] = self._from_paths
        else:
            self._columns, self._cells = built_in.columns, built_in.cells
            if self._begins_with_name:
                self._columns = (_NAME, *self._columns)

    def table(
        self,
        values: Iterable[Json],
        list_metadata: Mapping[str, object],
        include: Include,
        *,
        header: bool = True,
    ) -> Json:
        """A Table object; a watch sends its header once."""
        columns = [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in self._columns
        ]
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": dict(list_metadata),
            "columnDefinitions": columns if header else [],
            "rows": [self._row(value, include) for value in values],
        }

    def _row(self, value: Json, include: Include) -> Json:
        name = [text(metadata(value), "name")] if self._begins_with_name else []
        row: Json = {"cells": name + self._cells(value, self._clock())}
        if include == "Object":
            row["object"] = value
        elif include == "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": value.get("metadata"),
            }
        return row

    def _from_paths(self, value: Json, now: float) -> list[object]:
        return [_cell(_at(value, column.path), column, now) for column in self._columns[1:]]


def _at(value: object, path: str) -> object:
    """What a JSON path of plain names leads to, of a list[*] the first; the CRDs of Maar use no others."""
    for part in path.strip(".").split("."):
        name = part.removesuffix("[*]")
        value = value.get(name) if isinstance(value, dict) else None
        if name != part:
            value = value[0] if isinstance(value, list) and value else None
    return value


def _cell(found: object, column: Column, now: float) -> object:
    if found is None:
        return "<none>" if column.type == "string" else None
    if column.type == "date":
        return age(found, now) if isinstance(found, str) else "<invalid>"
    if column.type in ("integer", "number", "boolean"):
        return found
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()
