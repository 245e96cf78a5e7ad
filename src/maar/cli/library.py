"""`maar.plan`: what `maar plan` does, for Python; from files, or from objects that a program has."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path

from maar.apps.plugins import find_plugins
from maar.cli.configuration import read_configuration
from maar.cli.failure import CommandError
from maar.cli.files import Manifests, read_manifests, take_document
from maar.cli.plan import check, configuration_of, decide_cycles, the_snapshot
from maar.core.model.metadata import Object
from maar.core.policy.configuration import BadConfigurationError, Configuration, parse
from maar.core.views.planned import Planned

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
