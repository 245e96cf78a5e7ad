"""Server-side apply, and which manager owns a field after any other write.

The problem. Several clients keep parts of one object: kubectl its image, an autoscaler its
replicas. Each says again and again what it wants, knows nothing of the others, and wants to be
told where they disagree. What a client once wanted and no longer names has to go, unless somebody
else wants it too.

How it works. A *manager* is a name that a client gives itself. `metadata.managedFields` has an
entry for each manager, operation (Apply, Update) and subresource: the *owner*. It owns a set of
*fields*, paths whose last step may be a field of an object (`f:image`), an item of a list by its
keys (`k:{"name":"web"}`) or a plain value (`v:"a"`). The schema says where a value is divided
(`shapes.py`); a list without keys is one field.

    owners before           wanted by kubectl           merged                    owners after
    kubectl:  image, args   image: b                    image: b       <- given   kubectl:  image
    scaler:   replicas                                  replicas: 3    <- live    scaler:   replicas
    live:     image: a, args: [-v], replicas: 3         args is gone   <- was kubectl's alone

`applied` merges in four steps:

1. `combined`: the wanted values over the live ones. Items of lists are matched by their keys; the
   wanted ones have their order, and those that are only live keep their places among them.
2. `_without_abandoned`: out goes what this owner owned, does not want now, and nobody else owns.
3. Fields that get another value and are owned by others are conflicts: the whole apply is refused,
   or with `force` the others lose these fields.
4. The owner owns all that it wants, changed or not: two may own one field with one value.

`tracked` is for all other writes: fields with another value than before belong to the writer
alone, and what has gone to nobody. So an Update never conflicts; it takes away.

Invariants. An owner that owns nothing has no entry. Fields that only the server sets have no
owner. An object that was never applied has no owners, unless its kind has them from the start
(`Behaviour.tracks_owners`); the first apply works out those of before, from kubectl's annotation
of client-side apply, and gives the rest to `before-first-apply`.

Complexity. Each step walks the object once along its schema; sets of paths grow with its fields.
Nothing is compared for an object without owners, so ordinary writes do not pay.

Why not a three-way merge from the last applied text, as client-side apply has it? It knows one
client only, and overwrites what another has set without a word. Why sets of paths and not trees?
Union, difference and intersection are Python's own then; only FieldsV1 is written and read as a
tree (`fields.py`).
"""

from collections import Counter, deque
from typing import Final

from maar.embedded.failures import Json, bad_request
from maar.embedded.patch.comparison import compared, fields_of, same, without_nulls
from maar.embedded.patch.conformity import check
from maar.embedded.patch.fields import NOTHING, SELF, Fields, IllegibleError, field, written
from maar.embedded.patch.owners import (
    CLIENT_SIDE,
    KUBECTL,
    SERVERS_OWN,
    UNOWNED,
    Claim,
    Owner,
    Owners,
    applier,
    capped,
    client_side_fields,
    is_reset,
    last_applied_fields,
    metadata_of,
    owners_of,
    refuse_conflicts,
    released,
    updater,
    with_last_applied,
    with_owners,
)
from maar.embedded.patch.refusals import bounded_in_depth
from maar.embedded.patch.shapes import ANYTHING, Shape, below, elements, shape
from maar.embedded.schema.types import Schema

_BEFORE: Final = "before-first-apply"
_STATUS: Final = field("status")
_PARTS: Final = frozenset({"metadata", "spec", "status", "template"})


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
    live_object, owners = with_owners(live or {}, {}), _owners(live)
    if live and not owners:
        owners = _first_owners(live_object, schema, api_version, subresource, now)

    me = applier(manager, subresource)
    last = owners.pop(me, Claim(NOTHING, api_version))
    mine = fields_of(wanted, schema)
    owned = mine.union(*(claim.fields for claim in owners.values()))
    kept = _without_abandoned(combined(live_object, wanted, schema), last.fields, owned, schema)
    new = combined(kept, wanted, schema)  # again: empty lists have no owner, and pruning took them out

    change = compared(live_object, new, schema)
    if not force:
        allowed = last_applied_fields(live_object, schema, api_version) if manager == KUBECTL else NOTHING
        refuse_conflicts(owners, change.given - allowed)
    owners = released(owners, change.given | change.removed)
    if mine - UNOWNED:
        time = last.time if same(without_nulls(live_object), without_nulls(new)) else now
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


def _first_owners(live_object: Json, schema: Schema, api_version: str, subresource: str, now: str) -> Owners:
    """The owners of an object from before its first apply: client-side apply, if used, and the rest."""
    # Kubernetes makes one manager the owner of all fields, and hardly has such objects. Here most objects are
    # such, and kubectl takes over all fields of client-side apply: it would remove labels of other clients.
    whole = compared(_blank(schema), live_object, schema).given - UNOWNED
    there = {path for path in whole if (path[0] == _STATUS) == (subresource == "status")}
    client_side = client_side_fields(live_object, schema, api_version) & there
    claims = {CLIENT_SIDE: client_side, _BEFORE: frozenset(there - client_side)}
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
        name: part for name, part in schema.properties.items() if name in _PARTS or name in schema.required
    }
    return {name: _blank(part) if part.type == "object" else None for name, part in parts.items()}


def combined(live: object, wanted: object, schema: Schema) -> object:
    """The live value with the applied one merged into it; nothing is removed."""
    divided = shape(schema, wanted)
    if divided is Shape.LEAF or divided is not shape(schema, live):
        return wanted
    if not live or not wanted:
        return live or wanted
    if isinstance(live, dict) and isinstance(wanted, dict):
        return live | {
            name: combined(live[name], value, below(schema, name) or ANYTHING) if name in live else value
            for name, value in wanted.items()
        }
    if isinstance(live, list) and isinstance(wanted, list):
        return _combined_lists(live, wanted, schema)
    return wanted


def _combined_lists(live: list[object], wanted: list[object], schema: Schema) -> list[object]:
    """The applied items in their order; items that only the live list has keep their places among them."""
    names, wanted_names = elements(schema, live) or [], elements(schema, wanted) or []
    there, times = dict(zip(names, live, strict=True)), Counter(names)
    given = dict(zip(wanted_names, wanted, strict=True))
    coming, shared = deque(wanted_names), deque(name for name in wanted_names if name in there)
    result: list[object] = []

    def take() -> str:
        name = coming.popleft()
        alone = times[name] == 1  # of several items with one key none can be chosen
        items = schema.items or ANYTHING
        result.append(combined(there[name], given[name], items) if alone else given[name])
        return name

    for name, item in zip(names, live, strict=True):
        if name not in given:
            result.append(item)
        elif shared and shared[0] == name:
            while take() != name:
                pass
            shared.popleft()
    while coming:
        take()
    return result


def without(value: object, gone: Fields, schema: Schema) -> object:
    """The value without the fields."""
    return _pruned(value, written(gone), schema)


def _pruned(value: object, gone: object, schema: Schema) -> object:
    """Take out what is in the tree of fields, which is written as in FieldsV1."""
    divided = shape(schema, value)
    if not isinstance(gone, dict) or not gone or divided is Shape.LEAF:
        return value
    if isinstance(value, dict):
        return {
            name: _pruned(inner, gone.get(field(name)), below(schema, name) or ANYTHING)
            for name, inner in value.items()
            if not _is_member(gone.get(field(name)))
        }
    if isinstance(value, list):
        return [
            _pruned(item, gone.get(name), schema.items or ANYTHING)
            for name, item in zip(elements(schema, value) or [], value, strict=True)
            if not _is_member(gone.get(name))
        ]
    return value


def _is_member(node: object) -> bool:
    return isinstance(node, dict) and (not node or SELF in node)


def _without_abandoned(value: object, last: Fields, owned: Fields, schema: Schema) -> object:
    """The value without what was applied last time and has no owner now."""
    if not last:
        return value
    there, before = _with_parents(fields_of(value, schema), schema), _with_parents(last, schema)
    left = _with_parents(fields_of(without(value, before, schema), schema), schema)
    kept = without(value, there - left - _with_parents(owned, schema), schema)
    gone = there - _with_parents(fields_of(kept, schema), schema)
    return without(value, gone & before, schema)  # and not what was there without an owner


def _with_parents(fields: Fields, schema: Schema) -> Fields:
    """The fields and the declared fields that contain them, which have the same owners."""
    found = set(fields)
    for path in fields:
        at = schema
        for depth, element in enumerate(path[:-1], start=1):
            letter, _, name = element.partition(":")
            if letter == "f" and name in at.properties:
                found.add(path[:depth])
            at = (below(at, name) if letter == "f" else at.items if letter == "k" else None) or ANYTHING
    return frozenset(found)
