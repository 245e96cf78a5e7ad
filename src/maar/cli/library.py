"""`maar.plan` and `maar.whatif`: what the commands do, for Python, from files or from objects."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path

from maar.apps.plugins import find_plugins
from maar.cli.answers.change_flags import documents, new_nodes
from maar.cli.answers.present import present_of
from maar.cli.configuration import read_configuration
from maar.cli.failure import CommandError
from maar.cli.files import Manifests, read_manifests, take_document
from maar.cli.plan import check, configuration_of, decide_cycles, the_snapshot
from maar.core.answers.plan.answer import Planned
from maar.core.answers.whatif.ask import WhatIf, what_if
from maar.core.answers.whatif.changes import SetField, SubmitDocument, field_change, in_order
from maar.core.answers.whatif.known_objects import document_of
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.policy.configuration import BadConfigurationError, Configuration, parse

Source = str | PathLike[str] | Mapping[str, object] | Iterable[Object | Mapping[str, object]]
Config = str | PathLike[str] | Mapping[str, object] | Configuration | None


class PlanError(ValueError):
    """What keeps a cluster from being planned: a sentence a line, each with its place."""


def plan(
    source: Source,
    config: Config = None,
    now: datetime | None = None,
    cycles: int = 1,
    *,
    resubmit_victims: bool = False,
) -> Planned:
    """Say what Maar would do with a cluster, and why.

    The cluster is a file or a folder of manifests, a snapshot, or objects: plain documents as kubectl or a
    client library gives them, lists of them too, or records of `maar.core.model`. The configuration is a
    file, plain data in Volcano's grammar, or nothing for the default or the snapshot's. Between cycles the
    plan is applied.
    """
    if cycles < 1:
        raise PlanError(f"cycles is {cycles}; there is at least 1")
    try:
        manifests = _manifests(source)
        check(manifests)
        seen = the_snapshot(manifests.snapshots)
        known = _configuration(config) if config is not None or seen is None else configuration_of(seen)
        time = now or (seen.time if seen else datetime.now(UTC))
        decided = decide_cycles(manifests, seen, known, time, cycles, resubmit_victims=resubmit_victims)
        return Planned(tuple(decided), (*known.warnings, *manifests.warnings))
    except CommandError as error:
        raise PlanError("\n".join(error.sentences)) from None


def whatif(  # noqa: PLR0913  a change of each kind, and how it is decided
    source: Source,
    *,
    set: Mapping[str, object] | str | Iterable[str] = (),  # noqa: A002  as the command calls it
    add_nodes: str | Iterable[str] = (),
    drain: str | Iterable[str] = (),
    delete: str | Iterable[str] = (),
    submit: Source = (),
    config: Config = None,
    now: datetime | None = None,
    starts: int = 0,
) -> WhatIf:
    """Say what a change would do to a cluster: columns of queues, jobs and evictions.

    The cluster and the configuration are given as to `plan`. `set` has values by field, such as
    `{"queue/research.weight": 3}`, or texts such as `"queue/research.weight=3"`; the other changes are as
    `maar whatif` reads them, and `submit` is given as the cluster is. With `starts`, the planned starts of so
    many waiting jobs of each queue are compared.
    A change that cannot be made is a BadChangeError.
    """
    try:
        manifests = _manifests(source)
        check(manifests)
        known = None if config is None else _configuration(config)
        present = present_of(manifests, known, None if now is None else now.timestamp())
        nodes = [one.key for one in present.objects if isinstance(one, Node)]
        changes = in_order(
            new_nodes("add_nodes", _texts(add_nodes), nodes),
            _set_fields(set),
            _texts(drain),
            _texts(delete),
            _submitted(submit),
        )
        return what_if(present, changes, first_starts=starts)
    except CommandError as error:
        raise PlanError("\n".join(error.sentences)) from None


def _set_fields(given: Mapping[str, object] | str | Iterable[str]) -> list[SetField]:
    if isinstance(given, Mapping):
        return [SetField(target, value) for target, value in given.items()]
    return [field_change(text) for text in _texts(given)]


def _texts(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _submitted(source: Source) -> Iterator[SubmitDocument]:
    if isinstance(source, str | PathLike):
        yield from documents([Path(fspath(source))])
        return
    for number, one in enumerate([source] if isinstance(source, Mapping) else source, start=1):
        document: object = one
        if isinstance(one, Object):
            document = {"apiVersion": one.api_version, **document_of(one)}
        yield SubmitDocument(
            f"object {number}", dict(document) if isinstance(document, Mapping) else document
        )


def _manifests(source: Source) -> Manifests:
    if isinstance(source, str) and "\n" in source:
        raise CommandError(
            "a text is the path of a file here; read YAML first: maar.plan(yaml.safe_load_all(text))"
        )
    if isinstance(source, str | PathLike):
        return read_manifests([Path(fspath(source))])
    if not isinstance(source, Iterable):
        what = repr(source)
        raise CommandError(
            f"{what} is not a cluster; give a path, or objects as kubectl or a client gives them"
        )
    manifests = Manifests()
    given: Iterable[object] = [source] if isinstance(source, Mapping) else source
    for number, one in enumerate(given, start=1):
        if isinstance(one, Object):
            manifests.objects.append(one)
            continue
        items = one.get("items") if isinstance(one, Mapping) else None
        for index, item in enumerate(items if isinstance(items, list) else [one], start=1):
            place = f"object {number}, item {index}" if isinstance(items, list) else f"object {number}"
            take_document(manifests, place, dict(item) if isinstance(item, Mapping) else item)
    return manifests


def _configuration(config: Config) -> Configuration:
    if isinstance(config, Configuration):
        return config
    if config is None or isinstance(config, str | PathLike):
        return read_configuration(Path(fspath(config)) if config is not None else None)
    try:
        return parse(dict(config), find_plugins())
    except BadConfigurationError as error:
        raise CommandError(*(f"the configuration: {problem}" for problem in error.problems)) from None
