"""From what is to what should be: the smallest merge patch between two records."""

from typing import cast

import msgspec

from maar.core.model.kinds import to_json
from maar.core.model.metadata import Record

Json = dict[str, object]


def difference(old: Record, new: Record) -> Json:
    """The merge patch that makes one record the other; empty where they are equal."""
    return {} if old == new else _patch(_plain(old), _plain(new))


def _plain(record: Record) -> Json:
    return cast(Json, msgspec.json.decode(to_json(record)))


def _patch(old: Json, new: Json) -> Json:
    patch: Json = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if value == before and name in old:
            continue
        both = isinstance(value, dict) and isinstance(before, dict)
        patch[name] = _patch(cast(Json, before), cast(Json, value)) if both else value
    return patch
