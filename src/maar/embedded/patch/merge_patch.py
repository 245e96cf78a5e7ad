"""JSON merge patches, RFC 7386."""

from maar.embedded.failures import Json, bad_request
from maar.embedded.patch.refusals import bounded_in_depth, named_type


@bounded_in_depth
def merge_patch(document: Json, patch: object) -> Json:
    """The document with the patch merged into it: null removes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        raise bad_request(f"error decoding patch: a merge patch is an object, not {named_type(patch)}")
    return _merged(document, patch)


def _merged(target: object, patch: Json) -> Json:
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value) if isinstance(value, dict) else value
    return result
