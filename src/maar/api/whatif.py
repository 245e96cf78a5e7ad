"""`maar.whatif`: what a change would do to a cluster."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path

from maar.api.arguments import Config, admission_options, configuration_of, texts_of, time_of
from maar.api.documents import read_documents
from maar.api.errors import InputError, PlanError, raising
from maar.api.manifests import Source, check, manifests_of
from maar.api.present import present_of
from maar.core.answers.future import Present
from maar.core.answers.whatif.ask import WhatIf, what_if
from maar.core.answers.whatif.changes import SetField, SubmitDocument, field_change, in_order
from maar.core.answers.whatif.known_objects import document_of
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.node_sizes import BadNodesError


def whatif(  # noqa: PLR0913  # a change of each kind, and how it is decided
    source: Source | Present,
    *,
    set: Mapping[str, object] | str | Iterable[str] = (),  # noqa: A002  # as the command calls it
    add_nodes: str | Iterable[str] = (),
    drain: str | Iterable[str] = (),
    delete: str | Iterable[str] = (),
    submit: Source | Iterable[str | PathLike[str]] = (),
    config: Config = None,
    now: datetime | str | None = None,
    starts: int = 0,
    guarantee_over_total: str = "refuse",
    child_capability: str = "sum",
    max_queue_depth: int = 5,
    max_job_pods: int = 100_000,
    disable_job_plugin: Iterable[str] = (),
) -> WhatIf:
    """Say what a change would do to a cluster: columns of queues, jobs and evictions.

    The cluster and the configuration are given as to `plan`. `set` has values by field, such as
    `{"queue/research.weight": 3}`, or texts such as `"queue/research.weight=3"`; the other changes are as
    `maar whatif` reads them, and `submit` is given as the cluster is. With `starts`, the planned starts of so
    many waiting jobs of each queue are compared. The last five say how admission is configured there.
    A change that cannot be made is a BadChangeError.
    """
    with raising(PlanError):
        present = source if isinstance(source, Present) else _present(source)
        if config is not None:
            present = replace(present, configuration=configuration_of(config))
        if now:
            present = replace(present, now=time_of(now, "now").timestamp())
        options = admission_options(
            guarantee_over_total=guarantee_over_total,
            child_capability=child_capability,
            max_queue_depth=max_queue_depth,
            max_job_pods=max_job_pods,
            disable_job_plugin=disable_job_plugin,
            scheduler_name=present.scheduler_name,
        )
        changes = in_order(
            _new_nodes(texts_of(add_nodes), [each.key for each in present.objects if isinstance(each, Node)]),
            _set_fields(set),
            texts_of(drain),
            texts_of(delete),
            _submitted(submit),
        )
    return what_if(present, changes, options, first_starts=starts)


def _present(source: Source) -> Present:
    manifests = manifests_of(source)
    check(manifests)
    return present_of(manifests)


def _set_fields(given: Mapping[str, object] | str | Iterable[str]) -> list[SetField]:
    if isinstance(given, Mapping):
        return [SetField(target, value) for target, value in given.items()]
    return [field_change(text) for text in texts_of(given)]


def _new_nodes(texts: list[str], taken: Collection[str]) -> tuple[Node, ...]:
    """Read nodes as `maar up --nodes` does."""
    if not texts:
        return ()
    from maar.embedded.nodes.specification import parse  # noqa: PLC0415  # few questions are about nodes

    try:
        return tuple(from_document(Node, document) for document in parse(*texts, taken=taken))
    except BadNodesError as error:
        raise InputError(f" {error}", option="add_nodes") from None


def _submitted(given: Source | Iterable[str | PathLike[str]]) -> Iterator[SubmitDocument]:
    """The documents of files and folders, or objects of a program."""
    listed: list[object] = [given] if isinstance(given, str | PathLike | Mapping) else list(given)
    paths = [Path(fspath(each)) for each in listed if isinstance(each, str | PathLike)]
    read = read_documents(paths)
    if read.errors:
        raise InputError(*read.errors)
    if paths and not read.placed:
        raise InputError(f"there is no document in {', '.join(map(str, paths))}; name a file that has one")
    for place, document in read.placed:
        yield SubmitDocument(place, document)
    objects = [each for each in listed if not isinstance(each, str | PathLike)]
    for number, each in enumerate(objects, start=1):
        written = {"apiVersion": each.api_version, **document_of(each)} if isinstance(each, Object) else each
        yield SubmitDocument(f"object {number}", dict(written) if isinstance(written, Mapping) else written)
