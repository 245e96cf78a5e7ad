"""The API as a Python object: the operations on objects, with the rules of an API server."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

import msgspec

from maar.embedded.behaviour import ORDINARY, Behaviour
from maar.embedded.calls import SYSTEM, Admission, Admit, Call, Deletion, Stage, metadata, text
from maar.embedded.failures import (
    Cause,
    Json,
    already_exists,
    bad_request,
    invalid,
    namespace_ends,
    not_found,
)
from maar.embedded.history import History
from maar.embedded.lifecycle import (
    begin_deletion,
    bounded,
    carried_over,
    check_preconditions,
    count_generation,
    stamp_new,
    time_text,
)
from maar.embedded.patch.apply import applied, tracked
from maar.embedded.resources import Resource
from maar.embedded.schema import defaults, semantics
from maar.embedded.schema.check import refusals
from maar.embedded.schema.decode import read
from maar.embedded.schema.defaults import defaulted, with_canonical_quantities
from maar.embedded.schema.types import Schema
from maar.embedded.store import Key, Store

_MOST_UNKNOWN: Final = 100  # unknown fields that a refusal names


@dataclass(frozen=True)
class Served:
    """A served resource, with the schema and the behaviour of its objects."""

    resource: Resource
    schema: Schema
    behaviour: Behaviour = ORDINARY

    @property
    def has_status(self) -> bool:
        """Whether the status is written through a subresource of its own."""
        return "status" in self.resource.subresources

    @cached_property
    def identity(self) -> bytes:
        """How the JSON of every object begins: with what it is."""
        what = {"kind": self.resource.kind, "apiVersion": self.resource.api_version}
        return msgspec.json.encode(what)[:-1] + b","


class Cluster:
    """Objects with the rules of an API server; every method answers at once, and what it wrote is durable."""

    def __init__(
        self,
        store: Store,
        served: Iterable[Served],
        *,
        admit: Admit | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.history = History(store)
        self.clock = clock
        self.served: Mapping[str, Served] = {one.resource.qualified: one for one in served}
        self._admit = admit

    # Reading

    def key(self, plural: str, namespace: str, name: str) -> Key:
        """Where an object of a resource, named with its group, is kept."""
        return Key(plural, namespace if self.served[plural].resource.namespaced else "", name)

    def get(self, plural: str, namespace: str, name: str) -> bytes:
        """One object as JSON."""
        body = self.store.get(self.key(plural, namespace, name))
        if body is None:
            raise not_found(plural, name)
        return body

    def read(self, plural: str, namespace: str, name: str) -> Json | None:
        """One object, or None."""
        body = self.store.get(self.key(plural, namespace, name))
        return None if body is None else msgspec.json.decode(body)

    def all(self, plural: str, namespace: str | None = None) -> list[Json]:
        """All objects of a resource, in one namespace or everywhere."""
        return [msgspec.json.decode(body) for _, _, body in self.store.page(plural, namespace)]

    def now(self) -> str:
        """The time as objects write it."""
        return time_text(int(self.clock()))

    # Writing

    def create(self, plural: str, namespace: str, value: Json, call: Call | None = None) -> Json:
        """Make a new object."""
        call, served = call or Call(), self.served[plural]
        resource = served.resource
        value = self._decoded(served, value, call)
        meta = metadata(value)
        self._place(served, meta, namespace)
        defaults.default(resource, value)
        if resource.custom:
            value = cast(Json, defaulted(served.schema, value))
            meta = metadata(value)
        if served.has_status and resource.custom:
            value.pop("status", None)
        name = stamp_new(meta, plural, self.now())
        with self.store.transaction(keep=not call.dry_run):
            if self.store.get(key := Key(plural, text(meta, "namespace"), name)) is not None:
                raise already_exists(plural, name)
            served.behaviour.before_create(self, value, call)
            if served.behaviour.tracks_owners and not meta.get("managedFields"):
                value = self._tracked(served, None, value, call)
            admission = Admission("CREATE", resource, "", key.namespace, name, None, value, call)
            self._admitted("fill in", admission)
            self._check(served, None, value)
            self._admitted("judge", admission)
            self._write(served, key, None, None, value)
        return value

    def replace(
        self,
        plural: str,
        namespace: str,
        name: str,
        value: Json,
        subresource: str = "",
        call: Call | None = None,
    ) -> Json:
        """Put an object in place of the one that is there."""
        call, served = call or Call(), self.served[plural]
        value = self._decoded(served, value, call)
        if text(metadata(value), "name") not in ("", name):
            raise bad_request(
                f"the name of the object ({text(metadata(value), 'name')}) does not match the name on the URL"
                f" ({name})"
            )
        return self._change(served, namespace, name, subresource, call, lambda _: value)

    def change(
        self,
        plural: str,
        namespace: str,
        name: str,
        edit: Callable[[Json], Json],
        subresource: str = "",
        call: Call | None = None,
    ) -> Json:
        """Make an object what `edit` gives for it; `edit` may change what it is given."""
        call, served = call or Call(), self.served[plural]

        def edited(old: Json) -> Json:
            return self._decoded(served, edit(old), call)

        return self._change(served, namespace, name, subresource, call, edited)

    def apply(
        self,
        plural: str,
        namespace: str,
        name: str,
        wanted: Json,
        subresource: str = "",
        call: Call | None = None,
    ) -> tuple[Json, bool]:
        """Apply what a manager wants of an object (server-side apply); True where that made it."""
        call, served = call or Call(), self.served[plural]
        wanted = self._decoded(served, wanted, call)
        if not served.resource.custom:  # compared with what is there, which is written so
            wanted = cast(Json, with_canonical_quantities(served.schema, wanted))
        meta = metadata(wanted)
        meta.setdefault("name", name)
        if served.resource.namespaced:
            meta.setdefault("namespace", namespace)

        def merged(old: Json | None) -> Json:
            return applied(
                old,
                wanted,
                served.schema,
                manager=call.manager,
                force=call.force,
                now=self.now(),
                api_version=served.resource.api_version,
                subresource=subresource,
            )

        if self.store.get(self.key(plural, namespace, name)) is None:
            if subresource:
                raise not_found(plural, name)
            return self.create(plural, namespace, merged(None), call), True
        return self._change(served, namespace, name, subresource, call, merged, track=False), False

    def delete(
        self, plural: str, namespace: str, name: str, how: Deletion | None = None, call: Call | None = None
    ) -> tuple[Json, bool]:
        """Delete an object, at once (True) or when its grace is over and its finalizers are gone."""
        call, how, served = call or Call(), how or Deletion(), self.served[plural]
        key = self.key(plural, namespace, name)
        with self.store.transaction(keep=not call.dry_run):
            body = self.store.get(key)
            if body is None:
                raise not_found(plural, name)
            value = cast(Json, msgspec.json.decode(body))
            meta = metadata(value)
            check_preconditions(plural, name, meta, how)
            served.behaviour.before_delete(self, value, call)
            admission = Admission("DELETE", served.resource, "", key.namespace, name, value, None, call)
            self._admitted("judge", admission)
            begin_deletion(meta, how, served.behaviour.grace(value, how), self.clock())
            if self._may_go(served, value):
                return self._remove(served, key, body, value), True
            old = cast(Json, msgspec.json.decode(body))
            if value != old:
                self._write(served, key, body, old, value)
            return value, False

    def rewrite(
        self, plural: str, namespace: str, name: str, edit: Callable[[Json], Json], *, keep: bool = True
    ) -> None:
        """Write what `edit` makes of an object, as the server itself; `edit` must not change its argument.

        Nothing is admitted or checked, and the object is read once: a bind costs little more than its write.
        """
        key = self.key(plural, namespace, name)
        with self.store.transaction(keep=keep):
            body = self.store.get(key)
            if body is None:
                raise not_found(plural, name)
            old = cast(Json, msgspec.json.decode(body))
            value = edit(old)
            if value != old:
                value = {**value, "metadata": dict(metadata(value))}
                self._write(self.served[plural], key, body, old, value)

    # Steps

    def _decoded(self, served: Served, value: Json, call: Call) -> Json:
        """Refuse what is no object of the kind; unknown fields are dropped, or refused if so asked."""
        resource = served.resource
        for field, expected in (("apiVersion", resource.api_version), ("kind", resource.kind)):
            if (found := value.setdefault(field, expected)) != expected:
                raise bad_request(
                    f"the {field} in the data ({found}) does not match the expected {field} ({expected})"
                )
        reading = read(served.schema, value)
        if reading.problem:
            raise bad_request(reading.problem)
        unknown = [f'unknown field "{path}"' for path in reading.unknown]
        if unknown and call.strictness == "Strict":
            unknown = unknown[:_MOST_UNKNOWN]
            raise bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}:'
                f" strict decoding error: {', '.join(unknown)}"
            )
        if call.strictness == "Warn":
            call.warnings.extend(unknown)
        return reading.value

    def _place(self, served: Served, meta: Json, namespace: str) -> None:
        """Put a new object into the namespace of the request, which must be there and stay."""
        if not served.resource.namespaced:
            if text(meta, "namespace"):
                raise bad_request("namespace is not allowed on this type")
            return
        if text(meta, "namespace") not in ("", namespace):
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace
        found = self.read("namespaces", "", namespace)
        if found is None:
            raise not_found("namespaces", namespace)
        if "deletionTimestamp" in metadata(found):
            raise namespace_ends(served.resource.qualified, text(meta, "name"), namespace)

    def _change(
        self,
        served: Served,
        namespace: str,
        name: str,
        subresource: str,
        call: Call,
        edit: Callable[[Json], Json],
        *,
        track: bool = True,
    ) -> Json:
        plural = served.resource.qualified
        key = self.key(plural, namespace, name)
        with self.store.transaction(keep=not call.dry_run):
            body = self.store.get(key)
            if body is None:
                raise not_found(plural, name)
            old = cast(Json, msgspec.json.decode(body))
            new = edit(cast(Json, msgspec.json.decode(body)))
            value = carried_over(served.resource, old, new, subresource)
            if served.resource.custom:
                value = cast(Json, defaulted(served.schema, value))
            else:
                defaults.default(served.resource, value)
            served.behaviour.before_update(self, old, value, subresource, call)
            if track and metadata(old).get("managedFields"):  # what admission fills in has no owner
                value = self._tracked(served, old, value, call, subresource)
            admission = Admission(
                "UPDATE", served.resource, subresource, key.namespace, name, old, value, call
            )
            self._admitted("fill in", admission)
            count_generation(old, value)
            if value == old:
                return old  # nothing changed: no new revision, no event
            self._check(served, old, value)
            self._admitted("judge", admission)
            if "deletionTimestamp" in metadata(value) and self._may_go(served, value):
                return self._remove(served, key, body, value)
            self._write(served, key, body, old, value)
            return value

    def _tracked(
        self, served: Served, old: Json | None, value: Json, call: Call, subresource: str = ""
    ) -> Json:
        """The object with the owners that its fields have after a write."""
        return tracked(
            old,
            value,
            served.schema,
            manager=call.manager,
            now=self.now(),
            api_version=served.resource.api_version,
            subresource=subresource,
        )

    def _admitted(self, stage: Stage, admission: Admission) -> None:
        if self._admit is not None and admission.call.caller is not SYSTEM:
            self._admit(stage, admission)

    def _check(self, served: Served, old: Json | None, value: Json) -> None:
        resource = served.resource
        causes: Sequence[Cause]
        if old is None:
            causes = semantics.created(resource, value)
        else:
            causes = semantics.updated(resource, old, value)
        if resource.custom:
            causes = [*causes, *refusals(served.schema, value, old)]
        if causes:
            raise invalid(resource.kind, resource.group, text(metadata(value), "name"), causes)

    def _may_go(self, served: Served, value: Json) -> bool:
        meta = metadata(value)
        waits = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
        return not waits and not served.behaviour.waits(value)

    def _write(self, served: Served, key: Key, body: bytes | None, old: Json | None, value: Json) -> None:
        meta = metadata(value)

        value = {"kind": served.resource.kind, "apiVersion": served.resource.api_version} | value

        def encoded(revision: int) -> bytes:
            meta["resourceVersion"] = str(revision)
            return bounded(msgspec.json.encode(value))

        self.store.put(key, body, encoded)
        served.behaviour.stored(self, old, value)

    def _remove(self, served: Served, key: Key, body: bytes, value: Json) -> Json:
        meta = metadata(value)

        def encoded(revision: int) -> bytes:
            meta["resourceVersion"] = str(revision)
            return msgspec.json.encode(value)

        self.store.remove(key, body, encoded)
        served.behaviour.stored(self, cast(Json, msgspec.json.decode(body)), None)
        return value
