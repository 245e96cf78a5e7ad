"""Strategic merge patches: merge patches that know which lists have keys, and that carry directives."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Final

from maar.embedded.failures import ApiError, Json, bad_request
from maar.embedded.patch.refusals import as_go_prints, bounded_in_depth, named_type, unexpected, unprocessable
from maar.embedded.patch.shapes import ANYTHING
from maar.embedded.schema.types import Schema

_PLAIN: Final = "*"  # the patch key of a list of plain values: each is its own key


def _identities(items: Sequence[object], key: str) -> list[Hashable]:
    """What distinguishes each of the elements from the others of its list."""
    return [identity(item, key) for item in items]


def identity(item: object, key: str) -> Hashable:
    """What distinguishes an element from the others of its list: the value of its key, or itself."""
    if key != _PLAIN:
        if not isinstance(item, dict):
            raise unexpected(f"an element of a list merged by '{key}' is an object, not {named_type(item)}")
        if key not in item:
            raise unexpected(f"map: {as_go_prints(item)} does not contain declared merge key: {key}")
        item = item[key]
    if isinstance(item, list):
        raise unprocessable("lists of lists are not supported")
    if isinstance(item, dict):
        raise unexpected("list element types are not identical: an object among plain values")
    return isinstance(item, bool), item  # true is not 1


def _follows(chosen: Sequence[Hashable], order: Sequence[Hashable]) -> bool:
    """Whether the chosen ones are in the order, and stand in it as they stand in the list."""
    rest = iter(order)
    return not order or all(merge_key in rest for merge_key in chosen)


def _in_order(
    items: Sequence[object], key: str, order: Sequence[Hashable], live: Sequence[Hashable]
) -> list[object]:
    """Put what the order names in that order, and the rest where it stood among them in the live list."""
    rank = {merge_key: position for position, merge_key in reversed(list(enumerate(order)))}
    place = {merge_key: position for position, merge_key in reversed(list(enumerate(live)))}
    elements = [(identity(item, key), item) for item in items]
    others = deque(element for element in elements if element[0] not in rank)
    result: list[object] = []
    for merge_key, item in sorted((e for e in elements if e[0] in rank), key=lambda e: rank[e[0]]):
        while others and place.get(others[0][0], len(live)) < place.get(merge_key, -1):
            result.append(others.popleft()[1])
        result.append(item)
    return result + [item for _, item in others]


_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
DELETE: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"
GONE: Final = object()


@bounded_in_depth
def strategic_patch(document: Json, patch: object, schema: Schema) -> Json:
    """The document with the patch merged into it, lists as the schema says."""
    if not isinstance(patch, dict):
        message = f"a strategic merge patch is an object, not {named_type(patch)}"
        raise bad_request(f"error decoding patch: {message}")
    return _merged(document, patch, schema)


def _merged(live: Json, patch: Json, schema: Schema) -> Json:
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(live, patch)
    orders = _lists(patch, _ORDER, "invalid patch format of setElementOrder list")
    removed = _lists(patch, DELETE, "invalid patch format of primitive list")
    for field, value in patch.items():
        if not _is_directive(field):
            below = schema.properties.get(field) or schema.values or ANYTHING
            merged = _merged_value(result.get(field), value, below, orders.pop(field, None))
            if merged is GONE:
                result.pop(field, None)
            else:
                result[field] = merged
    for field, order in orders.items():
        key, there = schema.properties.get(field, ANYTHING).patch_key, result.get(field)
        if key and isinstance(there, list):
            result[field] = _in_order(there, key, _identities(order, key), _identities(there, key))
    for field, values in removed.items():
        there, unwanted = result.get(field), set(_identities(values, _PLAIN))
        if isinstance(there, list):
            result[field] = [item for item in there if identity(item, _PLAIN) not in unwanted]
    return result


def _merged_value(live: object, value: object, schema: Schema, order: list[object] | None) -> object:
    if value is None:
        return GONE
    if isinstance(live, dict) and isinstance(value, dict) and not schema.replace:
        return _merged(live, value, schema)
    if isinstance(value, list) and schema.patch_key and (isinstance(live, list) or order is not None):
        return _merged_list(live if isinstance(live, list) else [], value, schema, order)
    return _taken(value)


def _merged_list(
    live: list[object], patch: list[object], schema: Schema, order: list[object] | None
) -> list[object]:
    key, items = schema.patch_key, schema.items or ANYTHING
    kept, changes = (_distinct(live), patch) if key == _PLAIN else _after_directives(live, patch, key)
    before, changed = _identities(kept, key), _identities(changes, key)
    wanted = changed if order is None else _identities(order, key)
    if not _follows(changed, wanted):
        given, asked = as_go_prints(patch), as_go_prints(order)
        raise unexpected(f"The order in patch list:\n{given}\n doesn't match {_ORDER} list:\n{asked}\n")
    place = {merge_key: position for position, merge_key in reversed(list(enumerate(before)))}
    for merge_key, change in zip(changed, changes, strict=True):
        there = kept[place[merge_key]] if merge_key in place else None
        if merge_key not in place:
            place[merge_key] = len(kept)
            kept.append(_taken(change))
        elif isinstance(there, dict) and isinstance(change, dict):
            kept[place[merge_key]] = _merged(there, change, items)
    return _in_order(kept, key, wanted, before)


def _after_directives(live: list[object], patch: list[object], key: str) -> tuple[list[object], list[object]]:
    """What is left of the live list, and the elements of the patch that are to be merged into it."""
    plain: list[object] = []
    removed = set[Hashable]()
    replace = False
    for item in patch:
        if not (isinstance(item, dict) and _DIRECTIVE in item):
            plain.append(item)
        elif item[_DIRECTIVE] == "delete":
            removed.add(identity(item, key))
        elif item[_DIRECTIVE] == "replace":
            replace = True
        elif item[_DIRECTIVE] == "merge":
            raise unexpected("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown(item)
    if replace:
        return [_taken(item) for item in plain], []
    return [item for item in live if identity(item, key) not in removed], plain


def _distinct(values: list[object]) -> list[object]:
    return list(dict(zip(_identities(values, _PLAIN), values, strict=True)).values())


def _directed(patch: Json) -> Json:
    if patch[_DIRECTIVE] == "delete":
        return {}
    if patch[_DIRECTIVE] == "replace":
        return _taken_fields({field: value for field, value in patch.items() if field != _DIRECTIVE})
    raise _unknown(patch)


def _retained(live: Json, patch: Json) -> Json:
    """What stays of the live fields, before the patch is merged into them."""
    if _RETAIN not in patch:
        return dict(live)
    names = patch[_RETAIN]
    if not isinstance(names, list):
        raise bad_request("invalid patch format of retainKeys")
    kept = {name for name in names if isinstance(name, str)}
    if any(
        value is not None and not _is_directive(field) and field not in kept for field, value in patch.items()
    ):
        raise bad_request("invalid patch format of retainKeys")
    return {field: value for field, value in live.items() if field in kept}


def _taken(value: object) -> object:
    """A value that there was nothing to merge with: without directives, and without nulls."""
    if isinstance(value, dict):
        return GONE if _DIRECTIVE in value else _taken_fields(value)
    if isinstance(value, list):
        return [taken for item in value if (taken := _taken(item)) is not GONE]
    return value


def _taken_fields(fields: Json) -> Json:
    result: Json = {}
    for field, value in fields.items():
        if value is not None and not _is_directive(field) and (taken := _taken(value)) is not GONE:
            result[field] = taken
    return result


def _is_directive(field: str) -> bool:
    return field[:1] == "$" and (field == _RETAIN or field.startswith((_ORDER, DELETE)))


def _lists(patch: Json, prefix: str, message: str) -> dict[str, list[object]]:
    """The lists that a directive gives, by the field that it is about."""
    found: dict[str, list[object]] = {}
    for field in (field for field in patch if field[:1] == "$" and field.startswith(prefix)):
        value, (head, slash, about) = patch[field], field.partition("/")
        if head != prefix or not slash:
            raise bad_request(message)
        if not isinstance(value, list):
            raise unexpected(f"expected a list in {field}, but received a {named_type(value)}")
        found[about] = value
    return found


def _unknown(patch: Json) -> ApiError:
    return unexpected(f"unknown patch type: {as_go_prints(patch[_DIRECTIVE])} in map: {as_go_prints(patch)}")
