"""The objects of a cluster while changes are made to them, and admission, which judges every change.

Nothing is judged until a change asks for it: then admission learns the cluster once, and every
object after that which is changed, so that a later change is judged as on a cluster that has the
earlier ones.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, cast

import msgspec

from maar.core.admission.cluster import KNOWN_KINDS
from maar.core.admission.offline import Imagined, Sent
from maar.core.admission.request import DELETE, Options, Request
from maar.core.admission.review import review
from maar.core.answers.whatif.field_paths import nearest
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError, from_document, plain, to_json
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import ALWAYS_OPEN, Queue, QueueMetadata, QueueStatus

Json = dict[str, object]

_WORDS: Final[dict[str, type[Object]]] = {
    **dict.fromkeys(("queue", "queues", "q"), Queue),
    **dict.fromkeys(("podgroup", "podgroups", "pg"), PodGroup),
    **dict.fromkeys(("job", "jobs", "vcjob", "vj"), Job),
    **dict.fromkeys(("pod", "pods", "po"), Pod),
    **dict.fromkeys(("node", "nodes", "no"), Node),
}
_KINDS: Final = "queue/NAME, podgroup/NAMESPACE/NAME, job/NAMESPACE/NAME, pod/NAMESPACE/NAME or node/NAME"


class BadChangeError(ValueError):
    """A change that cannot be made: what is wrong, where, and what to do; a sentence each."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


class KnownObjects:
    """Objects by kind and key, and what admission makes of changes of them."""

    def __init__(self, objects: Iterable[Object], options: Options) -> None:
        self.options = options
        self._objects: dict[type[Object], dict[str, Object]] = {}
        self._changed: dict[tuple[type[Object], str], None] = {}
        for one in objects:
            self._objects.setdefault(type(one), {})[one.key] = one

    # --- what there is

    def all(self) -> Iterator[Object]:
        """Every object."""
        for objects in self._objects.values():
            yield from objects.values()

    def events(self) -> list[Event]:
        """What has become of the objects that were changed, each once."""
        found = list[Event]()
        for kind, key in self._changed:
            one = self.get(kind, key)
            gone = Deleted(kind=kind.__name__, key=key)
            found.append(gone if one is None else Upserted(object=cast("AnyObject", one)))
        return found

    def of_kind(self, kind: type[Object]) -> dict[str, Object]:
        """The objects of a kind, by key."""
        return self._objects.get(kind, {})

    def find(self, target: str) -> tuple[type[Object], str]:
        """The kind and key of what is named `kind/name` or `kind/namespace/name`."""
        kind, name = read_target(target)
        key = self._key(kind, name)
        if key is None:
            raise self._missing(target, kind, name)
        return kind, key

    def find_field(self, target: str) -> tuple[type[Object], str, str]:
        """The kind, the key and the path of what is named `kind/name.path`; a name may have dots."""
        kind, text = read_field_target(target)
        for end in [place for place, letter in enumerate(text) if letter == "."][::-1]:
            key = self._key(kind, text[:end])
            if key is not None:
                return kind, key, text[end + 1 :]
        raise self._missing(target, kind, text.partition(".")[0])

    def get(self, kind: type[Object], key: str) -> Object | None:
        """One object."""
        return self._objects.get(kind, {}).get(key)

    def pods_of(self, group: str) -> list[Pod]:
        """The pods of a group."""
        pods = self.of_kind(Pod).values()
        return [one for one in pods if isinstance(one, Pod) and one.group_key == group]

    # --- changes

    def put(self, one: Object) -> None:
        """Let an object be there, new or changed."""
        self._objects.setdefault(type(one), {})[one.key] = one
        self._changed[type(one), one.key] = None
        self._tell(one)

    def remove(self, kind: type[Object], key: str) -> None:
        """Let an object be gone."""
        self._objects.get(kind, {}).pop(key, None)
        self._changed[kind, key] = None
        if "_admission" in self.__dict__:
            self._admission.known.feed([Deleted(kind=kind.__name__, key=key)])

    def admit(self, place: str, kind: type[Object], document: Json) -> Object:
        """Let an object be there as admission leaves it; refused ones are an error with its sentences."""
        sent = Sent(place, kind, document)
        namespace, name = sent.key[1:]
        stored = self.get(kind, kind.key_of(namespace, name))
        if stored is not None:
            self._admission.stored[sent.key] = document_of(stored)
        judged = self._admission.apply(sent)
        if judged.refusals:
            raise BadChangeError(
                *(f"{place}: {sent.title} would be refused: {one}" for one in judged.refusals)
            )
        admitted = self._admission.stored[sent.key]
        try:
            made = from_document(kind, {**admitted, "kind": kind.kind_name()})
        except BadObjectError as error:
            raise BadChangeError(f"{place}: {sent.title}: {error}") from None
        self.put(made)
        return made

    def check_deletion(self, place: str, one: Object) -> None:
        """Refuse a deletion that admission refuses."""
        namespace = one.metadata.namespace if one.namespaced else ""
        request = Request(
            operation=DELETE,
            resource=one.plural,
            namespace=namespace,
            name=one.metadata.name,
            old=document_of(one),
        )
        refusals = review(request, self._admission.known, self.options).refusals
        if refusals:
            raise BadChangeError(*(f"{place}: it would be refused: {each}" for each in refusals))

    @cached_property
    def _admission(self) -> Imagined:
        """Admission on a cluster with all objects; of pods those of others, which lower the total."""
        imagined, names = Imagined(self.options), self.options.scheduler_names
        imagined.known.feed(
            Upserted(object=_for_admission(one))
            for kind in KNOWN_KINDS
            for one in self.of_kind(kind).values()
            if not isinstance(one, Pod) or one.spec.scheduler_name not in names
        )
        return imagined

    def _tell(self, one: Object) -> None:
        if "_admission" in self.__dict__ and isinstance(one, KNOWN_KINDS):
            self._admission.known.feed([Upserted(object=_for_admission(one))])

    def _key(self, kind: type[Object], name: str) -> str | None:
        if kind is Queue and name in ALWAYS_OPEN and name not in self.of_kind(Queue):
            self.put(Queue(metadata=QueueMetadata(name=name)))  # it is there without an object
        known = self.of_kind(kind)
        is_whole = not kind.namespaced or "/" in name
        key = name if is_whole else kind.key_of("", name)
        return key if key in known else None

    def _missing(self, target: str, kind: type[Object], name: str) -> BadChangeError:
        return missing(target, kind.kind_name().lower(), name, list(self.of_kind(kind)))


def missing(target: str, word: str, name: str, known: list[str]) -> BadChangeError:
    """What to say of an object that is not there."""
    return BadChangeError(f"{target}: there is no {word} {name}; {nearest(name, known)}")


def document_of(one: Object) -> Json:
    """An object as a document."""
    return cast(Json, plain(to_json(one)))


def read_target(target: str) -> tuple[type[Object], str]:
    """The kind and the name in `kind/name`, whether or not there is such an object."""
    word, slash, name = target.partition("/")
    kind = _WORDS.get(word.lower())
    if kind is None or not slash or not name:
        raise BadChangeError(f"{target}: it names nothing that can be changed; write {_KINDS}")
    return kind, name


def read_field_target(target: str) -> tuple[type[Object], str]:
    """The kind, and the name and the path together, in `kind/name.path`."""
    kind, text = read_target(target)
    if "." not in text:
        raise BadChangeError(f"{target}: it names no field; write {target}.FIELD=VALUE")
    return kind, text


def _for_admission(one: Object) -> AnyObject:
    if isinstance(one, Queue):
        one = msgspec.structs.replace(one, status=QueueStatus())  # the state follows the spec
    return cast("AnyObject", one)
