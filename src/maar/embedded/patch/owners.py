"""Which manager owns which fields: metadata.managedFields, and kubectl's note of client-side apply."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from maar.embedded.failures import ApiError, Json
from maar.embedded.patch.comparison import compared, fields_of
from maar.embedded.patch.fields import (
    NOTHING,
    Fields,
    IllegibleError,
    Path,
    field,
    in_reading_order,
    read,
    shown,
    written,
)
from maar.embedded.schema.types import Schema

_APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAX_UPDATERS: Final = 10  # older ones are put together, so that the list does not grow without bound
ANCIENT: Final = "ancient-changes"
SERVERS_OWN: Final = frozenset(
    {"clusterName", "creationTimestamp", "generation", "managedFields", "name", "namespace"}
    | {"resourceVersion", "selfLink", "uid"}
)  # in metadata
UNOWNED: Final[Fields] = frozenset(
    {(field("apiVersion"),), (field("kind"),), (field("metadata"),)}
    | {(field("metadata"), field(name)) for name in SERVERS_OWN}
)


class Owner(NamedTuple):
    """A manager and its operation; one that applies is the same in all versions of the API."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """As in messages about conflicts."""
        about = f'"{self.manager}"'
        if self.subresource:
            about += f' with subresource "{self.subresource}"'
        return f"{about} using {self.api_version}" if self.operation == UPDATE else about


@dataclass(frozen=True)
class Claim:
    """What an owner owns."""

    fields: Fields
    api_version: str
    time: str = ""  # of its last change; empty where the owner has never changed the object


Owners = dict[Owner, Claim]


def applier(manager: str, subresource: str) -> Owner:
    """The owner of what a manager applies."""
    return Owner(manager, _APPLY, subresource=subresource)


def updater(manager: str, api_version: str, subresource: str) -> Owner:
    """The owner of what a manager writes in any other way."""
    return Owner(manager or "unknown", UPDATE, api_version, subresource)


def owners_of(thing: Json | None) -> Owners:
    """The owners that the object names; IllegibleError where they cannot be read."""
    entries = metadata_of(thing).get("managedFields") or []
    if not isinstance(entries, list):
        raise IllegibleError("metadata.managedFields is not a list")
    return dict(map(_entry, entries))


def _entry(entry: object) -> tuple[Owner, Claim]:
    texts = _texts(entry)
    operation, api_version = texts["operation"], texts["apiVersion"]
    if operation not in (_APPLY, UPDATE) or not api_version or texts["fieldsType"] != "FieldsV1":
        raise IllegibleError(
            "an entry of metadata.managedFields needs an operation, an apiVersion and FieldsV1"
        )
    identity = "" if operation == _APPLY else api_version
    owner = Owner(texts["manager"], operation, identity, texts["subresource"])
    fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
    return owner, Claim(read(fields or {}), api_version, texts["time"])


def _texts(entry: object) -> dict[str, str]:
    if not isinstance(entry, dict):
        raise IllegibleError("an entry of metadata.managedFields is not an object")
    names = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")
    found = {name: entry.get(name) or "" for name in names}
    if not all(isinstance(text, str) for text in found.values()):
        raise IllegibleError("an entry of metadata.managedFields has a field that is not a text")
    return found


def with_owners(thing: Json, owners: Owners) -> Json:
    """The object with its owners named, appliers first and the latest change last."""
    metadata = {name: value for name, value in metadata_of(thing).items() if name != "managedFields"}
    order = sorted(owners, key=lambda owner: (owner.operation, owners[owner].time, *owner))
    if order:
        metadata["managedFields"] = [_written(owner, owners[owner]) for owner in order]
    return {**thing, "metadata": metadata}


def _written(owner: Owner, claim: Claim) -> Json:
    entry = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": claim.api_version,
        "time": claim.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": written(claim.fields),
        "subresource": owner.subresource,
    }
    return {name: value for name, value in entry.items() if value != ""}


def is_reset(thing: Json) -> bool:
    """Whether the object asks for its owners to be forgotten."""
    entries = metadata_of(thing).get("managedFields")
    return entries in ([], [{}])


def capped(owners: Owners) -> Owners:
    """The owners with the oldest updaters put together, where there are too many of them."""
    updaters = sorted(
        (owner for owner in owners if owner.operation == UPDATE),
        key=lambda owner: (owners[owner].time, owner),
    )
    if len(updaters) <= MAX_UPDATERS:
        return owners
    last = owners[updaters[len(updaters) - MAX_UPDATERS]]
    bucket = Owner(ANCIENT, UPDATE, last.api_version)
    old = {*updaters[: len(updaters) - MAX_UPDATERS + 1], bucket} & owners.keys()
    together = frozenset[Path]().union(*(owners[owner].fields for owner in old))
    kept = {owner: claim for owner, claim in owners.items() if owner not in old}
    return kept | {bucket: replace(last, fields=together)}


def released(owners: Owners, fields: Fields) -> Owners:
    """The owners after they have lost these fields; one that owns nothing any more is removed."""
    left = {owner: replace(claim, fields=claim.fields - fields) for owner, claim in owners.items()}
    return {owner: claim for owner, claim in left.items() if claim.fields}


def metadata_of(thing: Json | None) -> Json:
    """The metadata of the object, if it has any."""
    metadata = (thing or {}).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def refuse_conflicts(owners: Owners, fields: Fields) -> None:
    """Refuse to change the values of fields that other managers own."""
    shared = {owner: in_reading_order(owners[owner].fields & fields) for owner in sorted(owners)}
    conflicts = {owner: [shown(path) for path in paths] for owner, paths in shared.items() if paths}
    if conflicts:
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path}
            for owner, paths in conflicts.items()
            for path in paths
        ]
        lines = [f"conflicts with {owner}:\n- " + "\n- ".join(paths) for owner, paths in conflicts.items()]
        summary = f"{len(causes)} conflicts: " + "\n".join(lines)
        if len(causes) == 1:
            summary = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
        raise ApiError(HTTPStatus.CONFLICT, "Conflict", f"Apply failed with {summary}", {"causes": causes})


ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL: Final = "kubectl"  # only kubectl keeps the annotation up to date
CLIENT_SIDE: Final = "kubectl-client-side-apply"
_PLACE: Final[Path] = (field("metadata"), field("annotations"), field(ANNOTATION))


def last_applied_fields(live: Json, schema: Schema, api_version: str) -> Fields:
    """The fields that client-side apply has set and that are still as it set them."""
    configuration = _last_applied(live, api_version)
    return fields_of(configuration, schema) - _changed_since(configuration, live, schema)


def client_side_fields(live: Json, schema: Schema, api_version: str) -> Fields:
    """What client-side apply would own of an object whose owners have not been written down yet."""
    configuration = _last_applied(live, api_version)
    if not configuration:
        return NOTHING
    return (compared({}, configuration, schema).given - _changed_since(configuration, live, schema)) | {
        _PLACE
    }


def _last_applied(live: Json, api_version: str) -> Json:
    try:
        configuration = msgspec.json.decode(_annotation(live))
    except msgspec.DecodeError:
        return {}
    same_version = isinstance(configuration, dict) and configuration.get("apiVersion") == api_version
    return configuration if same_version else {}


def _changed_since(configuration: Json, live: Json, schema: Schema) -> Fields:
    change = compared(configuration, live, schema)
    return change.given | change.removed


def with_last_applied(thing: Json, configuration: Json) -> Json:
    """The object with its annotation, if it has one, up to date."""
    if not _annotation(thing):
        return thing
    bare = {name: text for name, text in _annotations(configuration).items() if name != ANNOTATION}
    metadata = {name: value for name, value in metadata_of(configuration).items() if name != "annotations"}
    applied = {**configuration, "metadata": metadata | ({"annotations": bare} if bare else {})}
    text = msgspec.json.encode(applied, order="sorted").decode() + "\n"
    annotations = _annotations(thing) | {ANNOTATION: text}
    return {**thing, "metadata": metadata_of(thing) | {"annotations": annotations}}


def _annotations(thing: Json) -> Json:
    annotations = metadata_of(thing).get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def _annotation(thing: Json) -> str:
    text = _annotations(thing).get(ANNOTATION)
    return text if isinstance(text, str) else ""
