"""What API servers refuse by themselves, whatever the kind: names, labels, annotations and containers."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.admission.plain import at, below, brief, list_at, map_at, numbered, text_at
from maar.core.admission.request import Finding, Problem
from maar.core.model import name_rules as names

NAME: Final = "object-name"
LABEL: Final = "object-label"
CONTAINER: Final = "object-container"


def server_findings(kind: str, document: object) -> Iterator[Finding]:
    """What an API server has against an object."""
    metadata = at(document, "metadata")
    for part, problems in _names(kind, metadata).items():
        for problem in problems:
            value = brief(text_at(metadata, part))
            yield Finding(NAME, f"metadata.{part}", value, f"is {value}, which no cluster takes: {problem}")
    for one in label_problems(metadata, "metadata"):
        yield Finding(LABEL, one.field, one.value, one.sentence)
    for one in container_problems(at(document, "spec"), "spec") if kind == "Pod" else ():
        yield Finding(CONTAINER, one.field, one.value, one.sentence)


def _names(kind: str, metadata: object) -> dict[str, Sequence[str]]:
    name, prefix, space = (text_at(metadata, part) for part in ("name", "generateName", "namespace"))
    return {
        "name": names.of_object(kind, name) if name else (),
        "generateName": names.of_prefix(kind, prefix) if prefix else (),
        "namespace": names.label(space) if space else (),
    }


def label_problems(metadata: object, path: str) -> Iterator[Problem]:
    """Labels and annotations have keys of a certain form and texts for values; so have labels' values."""
    for field in ("labels", "annotations"):
        found = at(metadata, field)
        if found is not None and not isinstance(found, dict):
            yield Problem(f"{path}.{field}", brief(found), f"is {brief(found)}; write keys and texts")
        for key, value in map_at(metadata, field).items():
            where = below(f"{path}.{field}", key)
            written = str(key) if field == "labels" else str(key).lower()
            for problem in names.qualified(written):
                yield Problem(where, brief(value), f"has a key that no cluster takes: {problem}")
            if not isinstance(value, str):
                if value is not None:
                    yield Problem(where, brief(value), f"is {brief(value)}, which is no text; quote it")
            elif field == "labels":
                for problem in names.value(value):
                    sentence = f"is {brief(value)}, which no cluster takes: {problem}"
                    yield Problem(where, brief(value), sentence)


def container_problems(spec: object, path: str) -> Iterator[Problem]:
    """Every container has a name of its own that can be part of a DNS name."""
    seen = set[str]()
    for field in ("initContainers", "containers"):
        for where, container in numbered(f"{path}.{field}", list_at(spec, field)):
            name = at(container, "name")
            said = brief(name)
            if not isinstance(name, str) or not name or name in seen:
                yield Problem(f"{where}.name", said, f"is {said}; give each container a name of its own")
            elif problems := names.label(name):
                sentence = f"is {said}, which no cluster takes: {problems[0]}"
                yield Problem(f"{where}.name", said, sentence)
            seen.add(str(name))
            yield from _not_text(where, container)


def _not_text(path: str, container: object) -> Iterator[Problem]:
    """Fields of a container that are texts: YAML reads y, no and 8080 as something else."""
    texts = [(f"{path}.{field}", at(container, field)) for field in ("image", "workingDir")]
    for field in ("command", "args"):
        texts += numbered(f"{path}.{field}", list_at(container, field))
    for where, variable in numbered(f"{path}.env", list_at(container, "env")):
        texts.append((f"{where}.value", at(variable, "value")))
    for where, value in texts:
        if value is not None and not isinstance(value, str):
            yield Problem(where, brief(value), f"is {brief(value)}, which is no text; put it in quotes")
