"""JSON patches: what is filled in, as an API server expects it, and the object with it."""

from collections.abc import Iterable, Sequence

from maar.core.admission.request import Json


def setting(value: object, *keys: str | int) -> Json:
    """The operation that sets a field, whether or not it is there."""
    path = "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)
    return {"op": "add", "path": path, "value": value}


def patched(document: Json, patch: Iterable[Json]) -> Json:
    """The object with a patch of `setting` operations; what it was made from stays as it was."""
    for operation in patch:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in str(operation["path"]).split("/")[1:]]
        document = {**document, keys[0]: _with(document.get(keys[0]), keys[1:], operation["value"])}
    return document


def _with(container: object, keys: Sequence[str], value: object) -> object:
    if not keys:
        return value
    key, *rest = keys
    if isinstance(container, list):
        place = int(key)
        return [*container[:place], _with(container[place], rest, value), *container[place + 1 :]]
    fields = container if isinstance(container, dict) else {}
    return {**fields, key: _with(fields.get(key), rest, value)}
