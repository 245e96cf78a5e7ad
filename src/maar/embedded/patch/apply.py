"""Server-side apply, and which manager owns a field after any other write."""

from typing import Final

from maar.embedded.failures import Json, bad_request
from maar.embedded.patch.combination import combined, pruned
from maar.embedded.patch.comparison import compared, fields_of, same, without_nulls
from maar.embedded.patch.conformity import check
from maar.embedded.patch.fields import NOTHING, IllegibleError, field
from maar.embedded.patch.last_applied import (
    CLIENT_SIDE,
    KUBECTL,
    client_side_fields,
    last_applied_fields,
    with_last_applied,
)
from maar.embedded.patch.owners import (
    SERVERS_OWN,
    UNOWNED,
    Claim,
    Owner,
    Owners,
    applier,
    capped,
    is_reset,
    metadata_of,
    owners_of,
    refuse_conflicts,
    released,
    updater,
    with_owners,
)
from maar.embedded.patch.refusals import bounded_in_depth
from maar.embedded.schema.types import Schema

BEFORE: Final = "before-first-apply"
STATUS: Final = field("status")
PARTS: Final = frozenset({"metadata", "spec", "status", "template"})


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
    wanted = _without_null_metadata(configuration)
    known, owners = with_owners(live or {}, {}), _owners(live)
    if live and not owners:
        owners = _first_owners(known, schema, api_version, subresource, now)

    me = applier(manager, subresource)
    last = owners.pop(me, Claim(NOTHING, api_version))
    mine = fields_of(wanted, schema)
    owned = mine.union(*(claim.fields for claim in owners.values()))
    left = pruned(combined(known, wanted, schema), last.fields, owned, schema)
    new = combined(left, wanted, schema)  # again: empty lists have no owner, and pruning took them out

    change = compared(known, new, schema)
    if not force:
        allowed = last_applied_fields(known, schema, api_version) if manager == KUBECTL else NOTHING
        refuse_conflicts(owners, change.given - allowed)
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
    named = {} if subresource else _owners(new)  # a client may write them, but not through a subresource
    owners = named or _owners(old)
    if old is not None and (not owners or (is_reset(new) and not subresource)):
        return with_owners(new, {})
    before = with_owners(old, {}) if old is not None else _blank(schema)
    writer = updater(manager, api_version, subresource)
    return with_owners(new, capped(_updated(owners, before, with_owners(new, {}), schema, writer, now)))


def _first_owners(known: Json, schema: Schema, api_version: str, subresource: str, now: str) -> Owners:
    """The owners of an object from before its first apply: client-side apply, if used, and the rest."""
    # Kubernetes makes one manager the owner of all fields, and hardly has such objects. Here most objects are
    # such, and kubectl takes over all fields of client-side apply: it would remove labels of other clients.
    whole = compared(_blank(schema), known, schema).given - UNOWNED
    there = {path for path in whole if (path[0] == STATUS) == (subresource == "status")}
    client_side = client_side_fields(known, schema, api_version) & there
    claims = {CLIENT_SIDE: client_side, BEFORE: frozenset(there - client_side)}
    return {
        updater(manager, api_version, subresource): Claim(fields, api_version, now)
        for manager, fields in claims.items()
        if fields
    }


def _updated(owners: Owners, old: Json, new: Json, schema: Schema, writer: Owner, now: str) -> Owners:
    """The owners after a write: fields that have another value than before belong to the writer alone."""
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
        return {}  # as in Kubernetes, managedFields that cannot be read are ignored


def _without_null_metadata(configuration: Json) -> Json:
    """The configuration without the nulls that kubectl prints for what only the server sets."""
    metadata = metadata_of(configuration)
    kept = {name: value for name, value in metadata.items() if value is not None or name not in SERVERS_OWN}
    return {**configuration, "metadata": kept} if len(kept) < len(metadata) else configuration


def _blank(schema: Schema) -> Json:
    """The object that a new one is compared with: of a built-in kind its main parts exist and are empty."""
    if not schema.name.startswith("io.k8s."):
        return {}
    parts = {
        name: part for name, part in schema.properties.items() if name in PARTS or name in schema.required
    }
    return {name: _blank(part) if part.type == "object" else None for name, part in parts.items()}
