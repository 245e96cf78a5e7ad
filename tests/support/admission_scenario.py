"""Scenarios of admission: what there is, what somebody asks for, and the verdict; read strictly from YAML.

What there is: as in `scenario.py`; `states`: {queue: what its status says}; `selectors`: {queue:
labels of the namespaces it is for}; `labels`: {namespace: labels}; `jobs`: {queue/name: phase}, in
namespace default with the uid name-uid; `also`: objects as they are.

What is asked: one of `create`, `update` and `delete`: {resource/name: …} or
{resource/namespace/name: …}; in it the fields of the spec and, beside them, `metadata` and
`status`; an update says what of it changes. Commands have no spec; tasks of a new job or job
template have a good template unless they say otherwise. `by` is who asks, `subresource` of what,
`nested` how deep a field `deep` of the spec is, `options` how admission is set up.

The verdict: `accepted: true`; or `refused`: {rule: field or fields}, complete, and `says`: parts of
the sentences; with it `warned`: {rule: field or fields}, complete too, and `becomes`: {path: value}
of what would be stored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import yaml

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.defaults import DEFAULTS
from maar.core.admission.plain import value_at
from maar.core.admission.request import CREATE, DELETE, UPDATE, Finding, Json, Options, Request
from maar.core.admission.review import mutated, review
from maar.core.admission.rules import all_rules
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.kinds import from_document, kind_of
from support.fields import BadScenarioError, Fields
from support.scenario import Rule, read_cluster

FOLDER: Final = Path(__file__).parents[1] / "scenarios" / "admission"
PROMISES: Final = FOLDER / "promises.yaml"

_VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
_KINDS: Final = {
    "queues": (_VOLCANO, "Queue"),
    "podgroups": (_VOLCANO, "PodGroup"),
    "jobs": ("batch.volcano.sh/v1alpha1", "Job"),
    "cronjobs": ("batch.volcano.sh/v1alpha1", "CronJob"),
    "jobflows": ("flow.volcano.sh/v1alpha1", "JobFlow"),
    "jobtemplates": ("flow.volcano.sh/v1alpha1", "JobTemplate"),
    "commands": ("bus.volcano.sh/v1alpha1", "Command"),
    "pods": ("v1", "Pod"),
    "resourcequotas": ("v1", "ResourceQuota"),
}
_TEMPLATE: Final[Json] = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
_OPERATIONS: Final = {"create": CREATE, "update": UPDATE, "delete": DELETE}
# By the beginning of a rule's id: the section of the rule map, and the heading in the specification.
_SECTIONS: Final = {
    "queue": ("Admission: queues", "queue-rules"),
    "podgroup": ("Admission: pod groups", "pod-group-rules"),
    "job": ("Admission: jobs", "job-rules"),
    "cronjob": ("Admission: cron jobs", "cron-job-rules"),
    "jobflow": ("Admission: job flows", "job-flow-rules"),
    "jobtemplate": ("Admission: job flows", "job-flow-rules"),
    "pod": ("Admission: pods", "pod-rules"),
    "command": ("Admission: commands", "command-rules"),
    "quota": ("Admission: quotas", "quotas"),
}


@dataclass(frozen=True)
class AdmissionScenario:
    """A promise, the request that shows it, and the verdict."""

    title: str
    file: str
    rules: tuple[str, ...]
    known: KnownCluster
    request: Request
    options: Options
    refused: frozenset[tuple[str, str]]
    warned: frozenset[tuple[str, str]]
    says: tuple[str, ...]
    becomes: Mapping[str, object]

    def complaints(self) -> list[str]:
        """How the verdict differs from what was promised."""
        verdict = review(self.request, self.known, self.options)
        found = []
        for word, wanted, given in (
            ("refused", self.refused, verdict.refusals),
            ("warned", self.warned, verdict.warnings),
        ):
            got = frozenset((one.rule, one.field) for one in given)
            if got != wanted:
                found.append(f"{word}: {sorted(got)}, expected {sorted(wanted)} ({_sentences(given)})")
        reported = _sentences((*verdict.refusals, *verdict.warnings))
        found += [f"nobody says {part!r}, but {reported}" for part in self.says if part not in reported]
        new = mutated(self.request, self.known, self.options)
        for path, value in self.becomes.items():
            if value_at(new, path) != value:
                found.append(f"{path}: {value_at(new, path)!r}, expected {value!r}")
        return found


def all_admission_scenarios() -> list[AdmissionScenario]:
    """Every scenario of every file; titles are unique."""
    found = [one for file in sorted(FOLDER.glob("*.yaml")) if file != PROMISES for one in load(file)]
    seen: dict[str, str] = {}
    for one in found:
        if one.title in seen:
            raise BadScenarioError(one.file, f"{one.title!r} is also in {seen[one.title]}")
        seen[one.title] = one.file
    return found


def all_admission_rules() -> list[Rule]:
    """The promises that no single rule makes, then every rule of admission as its code says it."""
    promises = []
    for number, entry in enumerate(yaml.safe_load(PROMISES.read_text(encoding="utf-8"))):
        with Fields(entry, f"{PROMISES.name}[{number}]") as fields:
            name, place, sentence = (fields.take(key, str, "") for key in ("id", "in", "rule"))
            promises.append(Rule(name, "Admission", place, sentence))
    rules = [_rule(name, sentence) for name, sentence in all_rules().items()]
    sections = [section for section, _ in _SECTIONS.values()]
    return [*promises, *sorted(rules, key=lambda rule: sections.index(rule.section))]


def _rule(name: str, sentence: str) -> Rule:
    """A rule of admission as its code says it."""
    section, heading = _SECTIONS[name.partition("-")[0]]
    is_default = any(name in rules for rules in DEFAULTS.values())
    return Rule(name, section, f"objects.md#{'defaults' if is_default else heading}", sentence)


def load(file: Path) -> Iterator[AdmissionScenario]:
    """The scenarios of one file."""
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    for number, entry in enumerate(entries):
        title = entry.get("title") if isinstance(entry, dict) else None
        yield read(entry, f"{file.name}: {title or number}", f"admission/{file.name}")


def read(entry: object, path: str, file: str = "") -> AdmissionScenario:
    """One scenario; an unknown key is refused with its path."""
    with Fields(entry, path) as fields:
        title, rules = fields.take("title", str, ""), tuple(fields.texts("rule"))
        fields.refuse_unless(
            holds=bool(title and rules), key="title", problem="a scenario has a title and a rule"
        )
        manifests = _manifests(fields)
        request = _request(fields, manifests)
        options = Options(**cast("dict[str, str]", dict(fields.every("options"))))  # type: ignore[arg-type]  # a scenario's options have the right types, or the test says so
        refused, warned = _pairs(fields, "refused"), _pairs(fields, "warned")
        says, becomes = tuple(fields.texts("says")), dict(fields.every("becomes"))
        is_accepted = fields.take("accepted", bool, False)
        fields.refuse_unless(
            holds=is_accepted != bool(refused),
            key="refused",
            problem="say `accepted: true` or what is refused",
        )
    known = _known(manifests)
    return AdmissionScenario(title, file, rules, known, request, options, refused, warned, says, becomes)


def _manifests(fields: Fields) -> list[Json]:
    manifests = read_cluster(fields).manifests
    for name, state in fields.labels("states").items():
        _find(manifests, "queues", name)["status"] = {"state": state}
    for name, labels in fields.every("selectors"):
        spec = cast("Json", _find(manifests, "queues", name)["spec"])
        spec["namespaceSelector"] = {"matchLabels": labels}
    for name, labels in fields.every("labels"):
        manifests.append(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
    for name, phase in fields.labels("jobs").items():
        queue, _, job = name.partition("/")
        manifests.append(_manifest("jobs", "default", job, {"queue": queue}, {"state": {"phase": phase}}))
    manifests += cast("list[Json]", fields.take("also", list, []))
    return manifests


def _request(fields: Fields, manifests: list[Json]) -> Request:
    word = next((word for word in _OPERATIONS if word in fields), "create")
    ((reference, body),) = fields.every(word) or [("", None)]
    resource, *names = reference.split("/")
    namespace, name = names if len(names) > 1 else ("", names[0] if names else "")
    old: Json | None = None
    if word != "create":
        old = _find(manifests, resource, name)
    new = None if word == "delete" else _written(resource, namespace, name, old, body)
    if depth := fields.take("nested", int, 0):
        cast("Json", cast("Json", new)["spec"])["deep"] = _nested(depth)
    return Request(
        operation=_OPERATIONS[word],
        resource=resource,
        subresource=fields.take("subresource", str, ""),
        namespace=namespace or ("" if resource == "queues" else "default"),
        name=name,
        old=old,
        new=new,
        user=fields.take("by", str, "ana"),
    )


def _written(resource: str, namespace: str, name: str, old: Json | None, body: object) -> object:
    """The object that somebody sends; what is no mapping stands for the whole of it."""
    if not isinstance(body, dict):
        return body
    parts = {part: body[part] for part in ("metadata", "status") if part in body}
    rest = {key: value for key, value in body.items() if key not in parts}
    if resource == "commands":
        return {**_manifest(resource, namespace or "default", name, None, None), **rest}
    before = cast("Json", (old or {}).get("spec") or {})
    spec = {key: value for key, value in {**before, **rest}.items() if value is not None or key not in before}
    if resource in ("jobs", "jobtemplates") and old is None and isinstance(spec.get("tasks"), list):
        spec["tasks"] = [{"template": _TEMPLATE, **task} for task in cast("list[Json]", spec["tasks"])]
    sent = dict(old) if old else _manifest(resource, namespace, name, spec, None)
    sent["spec"] = spec
    sent["metadata"] = {**cast("Json", sent["metadata"]), **cast("Json", parts.get("metadata", {}))}
    return {**sent, **({"status": parts["status"]} if "status" in parts else {})}


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"deeper": value}
    return value


def _manifest(resource: str, namespace: str, name: str, spec: object, status: object) -> Json:
    api_version, kind = _KINDS[resource]
    metadata: Json = {"name": name, "uid": f"{name}-uid"}
    if namespace:
        metadata["namespace"] = namespace
    made: Json = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return made | {key: one for key, one in (("spec", spec), ("status", status)) if one is not None}


def _find(manifests: list[Json], resource: str, name: str) -> Json:
    _, kind = _KINDS[resource]
    for one in manifests:
        if one["kind"] == kind and cast("Json", one["metadata"])["name"] == name:
            return one
    raise BadScenarioError(f"{resource}/{name}", "there is no such object in the scenario")


def _known(manifests: list[Json]) -> KnownCluster:
    known = KnownCluster()
    for one in manifests:
        kind = kind_of(str(one["apiVersion"]), str(one["kind"]))
        assert kind is not None, one["kind"]
        known.feed([Upserted(object=cast("AnyObject", from_document(kind, one)))])
    return known


def _pairs(fields: Fields, key: str) -> frozenset[tuple[str, str]]:
    found = set()
    for rule, value in fields.every(key):
        found |= {(rule, str(field)) for field in (value if isinstance(value, list) else [value])}
    return frozenset(found)


def _sentences(findings: tuple[Finding, ...]) -> str:
    return " | ".join(str(one) for one in findings)
