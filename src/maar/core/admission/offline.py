"""Admission without a cluster: objects are checked as if they were applied, parents before children."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast

import msgspec

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.plain import at, cut, text_at
from maar.core.admission.reading import read
from maar.core.admission.request import CREATE, UPDATE, Finding, Json, Options, Request
from maar.core.admission.review import mutated, review
from maar.core.admission.rules import RULES_BY_RESOURCE
from maar.core.admission.server_rules import server_findings
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.kinds import KINDS, BadObjectError
from maar.core.model.metadata import Object
from maar.core.model.queue import ROOT, Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.model.unread import unknown_fields

UNKNOWN_FIELD: Final = "unknown-field"
_JUDGED: Final = tuple(kind for kind in KINDS if kind.plural in RULES_BY_RESOURCE)  # queues first

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Sent:
    """An object to be applied, and where it was found."""

    place: str
    kind: type[Object]
    document: Json

    @property
    def key(self) -> Key:
        """What identifies it: kind, namespace and name."""
        metadata = at(self.document, "metadata")
        namespace = (text_at(metadata, "namespace") or "default") if self.kind.namespaced else ""
        return self.kind.__name__, namespace, text_at(metadata, "name")

    @property
    def title(self) -> str:
        """Its name in messages."""
        kind, *names = self.key
        return f"{kind} {cut('/'.join(filter(None, names)))}"


@dataclass
class Checked:
    """What would become of one object."""

    sent: Sent
    request: Request
    refusals: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Report:
    """What would become of all of them, in their order, and what could not be read."""

    judged: list[Checked] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # of what is stored already


@dataclass
class Imagined:
    """A cluster that objects are applied to, one after the other."""

    options: Options
    known: KnownCluster = field(init=False)
    stored: dict[Key, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = KnownCluster(self.options.scheduler_names)

    def learn(self, sent: Iterable[Sent]) -> Iterator[str]:
        """Add objects as they are; those that cannot be read are named."""
        for one in sent:
            try:
                known = read(one.kind, one.document)
            except BadObjectError as error:
                yield f"{one.place}: {one.title}: {error}"
                continue
            self.stored[one.key] = one.document
            self.known.feed([Upserted(object=cast("AnyObject", known))])

    def apply(self, sent: Sent) -> Checked:
        """Check an object, and add it unless it is refused."""
        request = self._request(sent)
        refusals = (*_findings(sent), *review(request, self.known, self.options).refusals)
        if not refusals:
            self._take(sent, cast("Json", mutated(request, self.known, self.options)))
        return Checked(sent, request, refusals)

    def unruled(self, sent: Sent) -> Checked:
        """An object that admission has no rules for, but that no API server takes."""
        return Checked(sent, self._request(sent), _findings(sent))

    def pretend(self, queue: Sent) -> None:
        """Give a refused queue its place and no more, so that those below it are judged for themselves."""
        if queue.key not in self.stored:
            spec = QueueSpec(parent=text_at(queue.document, "spec", "parent"))
            self.known.feed([Upserted(object=Queue(metadata=QueueMetadata(name=queue.key[-1]), spec=spec))])

    def warnings(self, judged: Checked) -> Iterator[Finding]:
        """The warnings about an object, once all other objects are there too."""
        sent = judged.sent
        for unknown in unknown_fields(sent.kind, sent.document):
            name, _, hint = unknown.partition(" ")
            yield Finding(UNKNOWN_FIELD, name, "", f"is a field that nobody reads {hint}".rstrip())
        yield from review(judged.request, self.known, self.options).warnings

    def _request(self, sent: Sent) -> Request:
        _, namespace, name = sent.key
        old = self.stored.get(sent.key)
        return Request(
            operation=CREATE if old is None else UPDATE,
            resource=sent.kind.plural if sent.kind in _JUDGED else "",
            namespace=namespace,
            name=name,
            old=old,
            new=sent.document,
        )

    def _take(self, sent: Sent, document: Json) -> None:
        self.stored[sent.key] = document
        try:
            one = read(sent.kind, document)
        except BadObjectError:
            return  # it breaks no rule, and no other rule reads it
        if isinstance(one, Queue):
            one = msgspec.structs.replace(one, status=QueueStatus())  # the state follows the spec
        self.known.feed([Upserted(object=cast("AnyObject", one))])


def _findings(sent: Sent) -> tuple[Finding, ...]:
    """What an API server itself has against an object."""
    return tuple(server_findings(sent.kind.__name__, sent.document))


def check(sent: Iterable[Sent], against: Iterable[Sent], options: Options) -> Report:
    """Judge objects as if they were applied to a cluster: parents before children, queues before work."""
    cluster, given = Imagined(options), list(sent)
    left_out = list(cluster.learn(against))
    unreadable = list(cluster.learn(one for one in given if one.kind not in _JUDGED))
    judged = _apply_queues(cluster, _parents_first([one for one in given if one.kind is Queue]))
    for kind in [kind for kind in _JUDGED if kind is not Queue]:
        judged += [cluster.apply(one) for one in given if one.kind is kind]
    for one in judged:
        one.warnings = tuple(cluster.warnings(one))
    judged += [cluster.unruled(one) for one in given if one.kind not in _JUDGED and _findings(one)]
    order = {id(one): place for place, one in enumerate(given)}
    return Report(sorted(judged, key=lambda one: order[id(one.sent)]), unreadable, left_out)


def _apply_queues(cluster: Imagined, queues: list[Sent]) -> list[Checked]:
    """A queue that is refused is tried again once the others are in: it may only have come too early."""
    judged = []
    for one in queues:
        judged.append(cluster.apply(one))
        if judged[-1].refusals:
            cluster.pretend(one)
    return [cluster.apply(one.sent) if one.refusals else one for one in judged]


def _parents_first(queues: list[Sent]) -> list[Sent]:
    """Every queue after the one it names as its parent, wherever that stands."""
    by_name = {one.key[-1]: one for one in queues}
    ordered: dict[int, Sent] = {}
    for one in queues:
        ordered.update({id(each): each for each in _from_above(one, by_name, ordered)})
    return list(ordered.values())


def _from_above(queue: Sent, by_name: dict[str, Sent], ordered: dict[int, Sent]) -> list[Sent]:
    """The queue and those above it that have no place in the order yet, the highest first."""
    way: dict[int, Sent] = {}
    here: Sent | None = queue
    while here is not None and id(here) not in way and id(here) not in ordered:
        way[id(here)] = here
        here = by_name.get(text_at(here.document, "spec", "parent") or ROOT)
    return list(way.values())[::-1]
