"""The spec of a template with what a flow says differently: a merge patch that knows lists of named things.

Maps are merged key by key; null is unset, as everywhere. Where every entry of a list has a name (tasks,
containers, environment variables) or a mount path (volumes), entries are merged with those of the same name,
and new ones follow. Any other list takes the place of the old one.
"""

from typing import Final, cast

Json = dict[str, object]

_NAMES: Final = ("name", "mountPath")


def merged(old: object, patch: object) -> object:
    """A value with a patch applied; what it was made from stays as it was."""
    if isinstance(patch, dict):
        before = old if isinstance(old, dict) else {}
        changed = {key: merged(before.get(key), value) for key, value in patch.items() if value is not None}
        return before | changed
    if isinstance(patch, list) and isinstance(old, list):
        name = next((one for one in _NAMES if _has_names(old, one) and _has_names(patch, one)), None)
        return patch if name is None else _merged_list(cast(list[Json], old), cast(list[Json], patch), name)
    return patch


def _has_names(values: list[object], name: str) -> bool:
    names = [one.get(name) if isinstance(one, dict) else None for one in values]
    return all(isinstance(one, str) for one in names) and len(set(names)) == len(names)


def _merged_list(old: list[Json], patch: list[Json], name: str) -> list[object]:
    patches = {one[name]: one for one in patch}
    there = {one[name] for one in old}
    kept = [merged(one, patches.get(one[name], {})) for one in old]
    return [*kept, *(merged(None, one) for one in patch if one[name] not in there)]
