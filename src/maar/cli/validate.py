"""`maar validate`: would a cluster take these objects? The rules of admission, without a cluster."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from maar.api.documents import read_documents
from maar.api.errors import InputError
from maar.cli.admission_options import AdmissionFlags
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import FAILED, CommandError, shortened
from maar.cli.option_groups import with_groups
from maar.core.admission.cluster import KNOWN_KINDS
from maar.core.admission.offline import Checked, Report, Sent, check
from maar.core.admission.plain import at, brief, text_at
from maar.core.admission.request import Finding
from maar.core.model.kinds import KINDS, kind_of
from maar.core.model.misspelt_kinds import misspelt
from maar.core.model.pod import Pod

if TYPE_CHECKING:  # see maar.cli.cluster.access
    from maar.cli.cluster.client import ClusterClient

UNREADABLE: Final = 2
_CLUSTER: Final = "cluster"
_KNOWN: Final = ", ".join(sorted(kind.__name__ for kind in KINDS))
_LOOKED_AT: Final = tuple(kind for kind in KNOWN_KINDS if kind is not Pod)  # they only lower the total


@with_groups
def validate(
    *,
    files: Annotated[
        list[Path],
        typer.Option("--filename", "-f", help="A file or folder of manifests; - is standard input."),
    ],
    against: Annotated[
        str, typer.Option(help="The existing objects: a file or folder of manifests, or the word cluster.")
    ] = "",
    admission: AdmissionFlags,
    access: Access,
    output: Annotated[
        Literal["text", "json"], typer.Option("--output", "-o", help="How to print the verdicts.")
    ] = "text",
) -> None:
    """Check what admission would refuse, and why.

    Leaves with 1 when something would be refused, and with 2 when something cannot be read.
    """
    try:
        sent, bad = _read(files)
        report = check(sent, _stored(against, access), admission.options())
        bad += report.unreadable
        if not sent and not bad:
            bad.append(f"there is nothing to check; maar validate knows {_KNOWN}")
    except InputError as error:
        report, bad = Report(), list(error.sentences)
    for sentence in shortened([f"warning: {sentence}: left out" for sentence in report.left_out]):
        typer.echo(sentence, err=True)
    for sentence in shortened([f"error: {sentence}" for sentence in bad]):
        typer.echo(sentence, err=True)
    if report.judged or not bad:  # what is wrong with one document hides nothing of the others
        typer.echo(_json(report) if output == "json" else _text(report))
    if bad:
        raise typer.Exit(UNREADABLE)
    if any(checked.refusals for checked in report.judged):
        raise typer.Exit(FAILED)


def _stored(against: str, access: Access) -> list[Sent]:
    """The objects that are there already."""
    if against == _CLUSTER:
        return on_cluster(access, _in_cluster)
    stored, bad = _read([Path(against)]) if against else ([], [])
    if bad:
        raise CommandError(*bad)
    return stored


async def _in_cluster(cluster: "ClusterClient") -> list[Sent]:
    return [
        Sent("the cluster", kind, document) for kind in _LOOKED_AT for document in await cluster.all(kind)
    ]


def _read(paths: list[Path]) -> tuple[list[Sent], list[str]]:
    """The objects of kinds that Maar reads, and what is wrong with documents; the others are counted."""
    documents, left_out = read_documents(paths, as_kubectl=True), Counter[str]()
    errors, sent = list(documents.errors), []
    for place, document in documents.placed:
        if not isinstance(document, dict) or "kind" not in document:
            errors.append(f"{place}: not an object of Kubernetes: it has no kind")
            continue
        version, name = str(document.get("apiVersion", "")), str(document["kind"])
        kind = kind_of(version, name)
        if kind in KINDS:
            problem = _unnamed(document)
            sent += [] if problem else [Sent(place, kind, document)]
            errors += [f"{place}: {name}: {problem}"] if problem else []
        elif problem := misspelt(version, name):
            errors.append(f"{place}: {problem}")
        else:
            left_out[name] += 1
    for name, count in left_out.items():
        typer.echo(f"note: {name} ({count}): not read", err=True)
    return sent, errors


def _unnamed(document: object) -> str:
    """Why an object has no name, or nothing."""
    if text_at(document, "metadata", "name") or text_at(document, "metadata", "generateName"):
        return ""
    name = at(document, "metadata", "name")
    if name in (None, ""):
        return "metadata.name is missing"
    return f"metadata.name is {brief(name)}, which is no text; put it in quotes"


def _text(report: Report) -> str:
    lines = [
        f"{checked.sent.place}: {checked.sent.title}: {word}: {finding}"
        for checked in report.judged
        for word, findings in (("refused", checked.refusals), ("warning", checked.warnings))
        for finding in findings
    ]
    refused = sum(bool(checked.refusals) for checked in report.judged)
    warned = sum(len(checked.warnings) for checked in report.judged)
    lines = shortened(lines)
    summary = f"{_counted(len(report.judged), 'object')}: {refused} refused, {_counted(warned, 'warning')}"
    return "\n".join([*lines, summary])


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _json(report: Report) -> str:
    document = {
        "checked": len(report.judged),
        "refused": [_brief(checked, finding) for checked in report.judged for finding in checked.refusals],
        "warnings": [_brief(checked, finding) for checked in report.judged for finding in checked.warnings],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def _brief(checked: Checked, finding: Finding) -> dict[str, str]:
    kind, namespace, name = checked.sent.key
    return {
        "place": checked.sent.place,
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "rule": finding.rule,
        "field": finding.field,
        "value": finding.value,
        "message": str(finding),
    }
