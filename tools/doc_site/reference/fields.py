"""Every field of the kinds that Maar defines, from the definitions in deploy/crds."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from doc_site.paths import ROOT
from doc_site.reference.tables import code, plain, table

_DEFINITIONS: Final = ROOT / "deploy" / "crds"
_OF_EVERY_OBJECT: Final = frozenset({"apiVersion", "kind", "metadata"})
_HEAD: Final = """# Fields

Every field of the kinds that Maar defines, generated from the custom resource definitions that it
installs. `kubectl explain queue.spec` says the same of a cluster. [The
specification](../specification/objects.md) says what the fields do together.
"""
_LIMITS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
}


def index() -> str:
    """The list of all kinds."""
    rows = [
        (
            f"[{kind}](fields/{kind}.md)",
            code(f"{one['group']}/{_version(one)['name']}"),
            _schema(one)["description"],
        )
        for kind, one in _definitions()
    ]
    return f"{_HEAD}\n{table(('kind', 'API', 'what it is'), rows)}"


def pages() -> dict[str, str]:
    """A page for each kind."""
    return {kind: _page(kind, one) for kind, one in _definitions()}


def _definitions() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(_DEFINITIONS.glob("*.yaml")):
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
        yield spec["names"]["kind"], spec


def _version(definition: Mapping[str, Any]) -> dict[str, Any]:
    (version,) = definition["versions"]
    return dict(version)


def _schema(definition: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_version(definition)["schema"]["openAPIV3Schema"])


def _page(kind: str, definition: Mapping[str, Any]) -> str:
    schema, names = _schema(definition), definition["names"]
    short = ", ".join(code(name) for name in (names["plural"], *names.get("shortNames", ())))
    lines = [f"# {kind}", "", plain(schema["description"]), ""]
    lines += [
        f"`apiVersion: {definition['group']}/{_version(definition)['name']}`. For kubectl: {short}.",
        "",
    ]
    for part, below in schema["properties"].items():
        if part in _OF_EVERY_OBJECT:
            continue
        rows = [_row(path, one) for path, one in _walk(part, below)]
        lines += [
            f"## {part}",
            "",
            plain(below.get("description", "")),
            "",
            table(("field", "type", "meaning"), rows),
        ]
    if rules := [(code(path), plain(message)) for path, message in _rules("", schema)]:
        lines += ["## Rules of the definition", "", "The API server itself refuses objects by these.", ""]
        lines += [table(("at", "what it says"), rules)]
    return "\n".join(lines)


def _walk(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All fields below one, with their paths."""
    for name, below in schema.get("properties", {}).items():
        yield f"{path}.{name}", below
        yield from _walk(f"{path}.{name}", below)
    if "items" in schema:
        yield from _walk(f"{path}[]", schema["items"])
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        yield from _walk(f"{path}.<name>", values)


def _row(path: str, schema: Mapping[str, Any]) -> tuple[str, str, str]:
    if not schema.get("description"):
        raise SystemExit(f"{path} has no description: write one in deploy/crds")
    facts = [text.format(schema[name]) for name, text in _LIMITS.items() if name in schema]
    if "enum" in schema:
        facts.append("one of " + ", ".join(code(str(value) or '""') for value in schema["enum"]))
    if "default" in schema:
        facts.append(f"default {code(str(schema['default']))}")
    meaning = plain(schema["description"])
    return code(path), _type(schema), f"{meaning} ({'; '.join(facts)})" if facts else meaning


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "number or text"
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        return f"map of {_type(values)}"
    return str(schema.get("type", "any"))


def _rules(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield (path + rule.get("fieldPath", "")).lstrip("."), rule.get("message", rule["rule"])
    for name, below in schema.get("properties", {}).items():
        yield from _rules(f"{path}.{name}", below)
    if "items" in schema:
        yield from _rules(f"{path}[]", schema["items"])
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        yield from _rules(f"{path}.<name>", values)
