"""The annotation of client-side apply, which kubectl's server-side apply takes over and keeps up to date."""

from typing import Final

import msgspec

from maar.embedded.failures import Json
from maar.embedded.patch.comparison import compared, fields_of
from maar.embedded.patch.fields import NOTHING, Fields, Path, field
from maar.embedded.patch.owners import metadata_of
from maar.embedded.schema.types import Schema

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
