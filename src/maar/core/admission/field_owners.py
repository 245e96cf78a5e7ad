"""Whether a client set a field of an object: defaults that Maar filled in have no field manager.

kubectl's client-side apply keeps what it sent in an annotation; API servers keep in managedFields which
fields each client sent, before webhooks fill in others.
"""

from typing import Final

import msgspec

from maar.core.admission.plain import at, list_at, text_at

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def is_left_to_maar(document: object, *path: str) -> bool:
    """Whether what is on record of an object shows that no client set the field."""
    applied = _last_applied(document)
    entries = list_at(document, "metadata", "managedFields")
    if applied is None and not entries:
        return False  # nothing is on record
    owned = any(at(one, "fieldsV1", *(f"f:{key}" for key in path)) is not None for one in entries)
    return not owned and at(applied, *path) is None


def applied_tasks(document: object) -> list[object]:
    """The tasks as client-side apply sent them; empty where that is not on record."""
    return list_at(_last_applied(document), "spec", "tasks")


def is_sent_by_apply(document: object, *path: str) -> bool:
    """Whether server-side apply sent a field as it is now: another kind of write changes its manager."""
    return any(
        text_at(one, "operation") == "Apply"
        and at(one, "fieldsV1", *(f"f:{key}" for key in path)) is not None
        for one in list_at(document, "metadata", "managedFields")
    )


def _last_applied(document: object) -> object:
    try:
        return msgspec.json.decode(text_at(document, "metadata", "annotations", _LAST_APPLIED) or "null")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
