"""`maar explain`: why a job, a pod group or a pod waits, runs where it does or was evicted."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from maar.api.arguments import configuration_of
from maar.api.manifests import Manifests, check, read_manifests
from maar.api.present import present_of
from maar.cli.answers.present import (
    ConfigOption,
    NowOption,
    read_present,
    seconds_of,
    time_of,
)
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.cluster.refusal import Operation, unknown
from maar.cli.completion import NamespaceFlags
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.queue.sharing import FilesOption, explain_share
from maar.cli.tables import DataOption, text_of
from maar.cli.terminal import Terminal, print_lines, width_of
from maar.core.answers.explain.ask import Explainer, GroupExplanation, with_changes
from maar.core.answers.explain.smallest_change import GoOn
from maar.core.answers.explain.subject import Subject, elsewhere, find_subject, names
from maar.core.answers.explain.text import explanation_lines, future_lines
from maar.core.answers.future import Present
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError, from_document
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.views.job_summary import EventSummary

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient

Kind = Literal["job", "podgroup", "pod"]

_KINDS: dict[Kind, type[Object]] = {"job": Job, "podgroup": PodGroup, "pod": Pod}


@with_groups
def explain(  # noqa: PLR0913  # each is an argument or a flag
    kind: Annotated[
        Literal["job", "podgroup", "pod", "queue"],
        typer.Argument(help="What it is: job, podgroup, pod or queue.", show_default=False),
    ],
    name: Annotated[str, typer.Argument(help="Its name.", show_default=False)],
    *,
    place: NamespaceFlags,
    files: FilesOption = None,
    config: ConfigOption = None,
    now: NowOption = "",
    within: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Look for so long for the smallest change that would help; 0: neither that nor the start.",
        ),
    ] = "20s",
    output: DataOption = None,
    access: Access,
) -> None:
    """Say why a job, a pod group or a pod waits or runs where it does, and what would start it.

    Of a queue, it says why the queue deserves what it does, as maar queue explain.
    Decides on the cluster as it is, or on one in files or in a snapshot, and writes nothing.
    """
    if kind == "queue":
        explain_share(name, files, output, access)
        return
    limit, moment = seconds_of("--within", within), time_of(now, files)
    if files:
        present, events = _from_files(files, config, moment)
        namespace = place.namespace or "default"
    else:
        present = read_present(None, config, access)
        namespace = place.namespace or on_cluster(access, _namespace)
        events = None
    subject = _subject(present, kind, namespace, name)
    if events is None:
        events = on_cluster(access, partial(_events, subject)) if subject.group else []
    explainer = Explainer(present, subject, events)
    explanation, console = explainer.explanation(), Terminal()
    if not output:
        print_lines(console, explanation_lines(explanation, width_of(console)))
    if limit and explanation.pod_group and explanation.state in ("waits", "makes room"):
        explanation = _with_future(explainer, explanation, limit)
        if not output:
            print_lines(console, future_lines(explanation, width_of(console)))
    if output:
        typer.echo(text_of(explanation.data(), output))


def _with_future(explainer: Explainer, explanation: GroupExplanation, limit: float) -> GroupExplanation:
    """Add what has to be decided again."""
    with _progress(limit) as go_on:
        explanation = msgspec.structs.replace(explanation, start=explainer.start())
        return with_changes(explanation, explainer.changes(explanation, go_on))


@contextmanager
def _progress(limit: float) -> Iterator[GoOn]:
    """Show on a terminal how many decisions have been tried; no more of them when the time is over.

    The time is that of the processor: on a busy machine the answer is the same, later.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    end, console = time.process_time() + limit, Terminal(stderr=True)
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as shown:
        task = shown.add_task("looking for its planned start", total=None)

        def go_on(tries: int) -> bool:
            shown.update(task, description=f"looking for the smallest change: decision {tries + 1}")
            return time.process_time() < end

        yield go_on


def _from_files(
    files: list[Path], config: Path | None, moment: float | None
) -> tuple[Present, list[EventSummary]]:
    """Read a cluster in files, with its events."""
    manifests = read_manifests(files)
    check(manifests)
    given = configuration_of(config) if config is not None else None
    present = present_of(manifests, given, moment)
    for warning in (*present.configuration.warnings, *manifests.warnings):
        typer.echo(f"warning: {warning}", err=True)
    return present, [*_events_in(manifests)]


def _events_in(manifests: Manifests) -> Iterator[EventSummary]:
    """The events among the documents; one that cannot be read explains nothing."""
    for document in manifests.events:
        try:
            yield from_document(EventSummary, document)
        except BadObjectError:
            continue


def _subject(present: Present, kind: Kind, namespace: str, name: str) -> Subject:
    """What is asked about; an error names what may have been meant."""
    if "/" in name:
        first, *_, last = name.split("/")
        raise CommandError(f"{name}: a name has no slash; write maar explain {kind} {last} -n {first}")
    subject = find_subject(present.objects, kind, f"{namespace}/{name}", present.scheduler_name)
    if subject is not None:
        return subject
    operation = Operation("get", _KINDS[kind], f"{namespace}/{name}")
    if others := elsewhere(present.objects, kind, name):
        raise CommandError(
            f"{operation.name} does not exist; there is one in namespace {' and '.join(others)}: "
            f"add -n {others[0]}"
        )
    if kind == "job" and find_subject(present.objects, "podgroup", f"{namespace}/{name}") is not None:
        raise CommandError(
            f"{operation.name} does not exist; there is a pod group of this name: "
            f"maar explain podgroup {name} -n {namespace}"
        )
    others = names(present.objects, kind, namespace)
    if not others:
        raise CommandError(f"{operation.name} does not exist; namespace {namespace} has none: choose with -n")
    sentence = unknown(operation, others)
    if "did you mean" not in sentence:
        sentence = f"{operation.name} does not exist; there are {', '.join(others[:5])}"
    raise CommandError(sentence)


async def _namespace(cluster: "ClusterClient") -> str:
    return cluster.namespace


async def _events(subject: Subject, cluster: "ClusterClient") -> list[EventSummary]:
    """The events of a group; none where they may not be read."""
    namespace, _, name = subject.group.partition("/")
    fields = f"involvedObject.kind=PodGroup,involvedObject.name={name}"
    try:
        return await cluster.objects(EventSummary, namespace, fields=fields)
    except CommandError:
        return []
