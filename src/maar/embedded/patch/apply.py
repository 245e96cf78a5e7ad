"""Server-side apply, and the owners of fields after any other write."""

from http import HTTPStatus
from typing import Final

from maar.embedded.failures import ApiError, Json, bad_request
from maar.embedded.patch.combination import combined
from maar.embedded.patch.comparison import compared, fields_of
from maar.embedded.patch.conformity import check
from maar.embedded.patch.equality import same, without_nulls
from maar.embedded.patch.fields import NOTHING, Fields, IllegibleError, in_reading_order, shown
from maar.embedded.patch.last_applied import KUBECTL, last_applied_fields, with_last_applied
from maar.embedded.patch.owners import (
    UNOWNED,
    Claim,
    Owner,
    Owners,
    applier,
    capped,
    is_reset,
    metadata_of,
    owners_of,
    released,
    updater,
    with_owners,
)
from maar.embedded.patch.pruning import pruned
from maar.embedded.patch.refusals import bounded_in_depth
from maar.embedded.schema.types import Schema

BEFORE: Final = "before-first-apply"


@bounded_in_depth
def applied(  # noqa: PLR0913 - a request has as many parts
    live: Json | None,
    configuration: Json,
    schema: Schema,
    *,
    manager: str,
    force: bool,
    now: str,
    api_version: str,
    subresource: str = "",
) -> Json:
    """The object after the configuration is applied, with its owners; ApiError 409 on conflicts."""
    if metadata_of(configuration).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    check(configuration, schema)
    known, owners = with_owners(live or {}, {}), _owners(live)
    if live and not owners:
        owners = _updated({}, _blank(schema), known, schema, updater(BEFORE, api_version, subresource), now)

    me = applier(manager, subresource)
    last = owners.pop(me, Claim(NOTHING, api_version))
    mine = fields_of(configuration, schema)
    owned = mine.union(*(claim.fields for claim in owners.values()))
    new = pruned(combined(known, configuration, schema), last.fields, owned, schema)

    change = compared(known, new, schema)
    if not force:
        allowed = last_applied_fields(known, schema, api_version) if manager == KUBECTL else NOTHING
        _refuse_conflicts(owners, change.given - allowed)
    owners = released(owners, change.given | change.removed)
    if mine - UNOWNED:
        time = last.time if same(without_nulls(known), without_nulls(new)) else now
        owners[me] = Claim(mine - UNOWNED, api_version, time)
    result = new if isinstance(new, dict) else {}
    return with_owners(with_last_applied(result, configuration) if manager == KUBECTL else result, owners)


@bounded_in_depth
def tracked(
    old: Json | None,
    new: Json,
    schema: Schema,
    *,
    manager: str,
    now: str,
    api_version: str,
    subresource: str = "",
) -> Json:
    """The new object with its owners after a create, an update or a patch; one without owners gets none."""
    forgotten = not subresource and is_reset(new)
    owners = {} if forgotten else (not subresource and _owners(new)) or _owners(old)
    if old is not None and not owners:
        return with_owners(new, {})
    before = with_owners(old, {}) if old is not None else _blank(schema)
    after = with_owners(new, {})
    return with_owners(
        new, capped(_updated(owners, before, after, schema, updater(manager, api_version, subresource), now))
    )


def _updated(owners: Owners, old: Json, new: Json, schema: Schema, writer: Owner, now: str) -> Owners:
    """The owners after a write: what has another value than before is the writer's alone."""
    change = compared(old, new, schema)
    left = released(owners, change.given | change.removed)
    mine = change.given - UNOWNED
    if mine:
        earlier = left[writer].fields if writer in left else NOTHING
        left[writer] = Claim(mine | earlier, writer.api_version, now)
    return left


def _owners(thing: Json | None) -> Owners:
    try:
        return owners_of(thing)
    except IllegibleError:
        return {}  # as Kubernetes: what nobody can read is not there


def _blank(schema: Schema) -> Json:
    """What Kubernetes takes a new object to be: of a built-in kind the parts are there, and empty."""
    parts = ("metadata", "spec", "status") if schema.name.startswith("io.k8s.") else ()
    return {part: {} for part in parts if part in schema.properties}


def _refuse_conflicts(owners: Owners, fields: Fields) -> None:
    """Refuse to change what others own."""
    taken = {one: in_reading_order(owners[one].fields & fields) for one in sorted(owners)}
    conflicts = [(one, shown(path)) for one, paths in taken.items() for path in paths]
    if not conflicts:
        return
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {one}", "field": path}
        for one, path in conflicts
    ]
    if len(conflicts) == 1:
        ((one, path),) = conflicts
        told = f"1 conflict: conflict with {one}: {path}"
    else:
        lines = [
            line
            for one, paths in taken.items()
            if paths
            for line in (f"conflicts with {one}:", *(f"- {shown(p)}" for p in paths))
        ]
        told = f"{len(conflicts)} conflicts: " + "\n".join(lines)
    raise ApiError(HTTPStatus.CONFLICT, "Conflict", f"Apply failed with {told}", {"causes": causes})
