"""`maar snapshot` and `maar replay`: what a scheduler sees in one file, and whether it decides the same."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from maar.api.arguments import configuration_of
from maar.api.errors import why
from maar.apps.version import __version__
from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient
    from maar.core.model.job import Job
    from maar.core.model.metadata import Object


@with_groups
def snapshot(
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="A file .yaml, .json or .json.gz; - is standard output.")
    ] = "-",
    access: Access,
    config: Annotated[
        Path | None, typer.Option(help="The scheduler's configuration, which goes into the snapshot.")
    ] = None,
    name: Annotated[
        str, typer.Option("--scheduler-name", help="The scheduler name of the pods that are Maar's.")
    ] = "volcano",
) -> None:
    """Write down everything a scheduler sees of a cluster, for maar plan -f.

    Only what decisions read is in it: no environment variables, no annotations of others, no secrets.
    """
    from maar.apps.snapshots.configuration import as_document  # noqa: PLC0415
    from maar.apps.snapshots.files import ENDINGS, Snapshot, as_yaml, write  # noqa: PLC0415  see cluster/access.py
    from maar.core.engine import Engine  # noqa: PLC0415
    from maar.core.model.events import AnyObject, Upserted  # noqa: PLC0415
    from maar.core.views.objects import Seen  # noqa: PLC0415
    from maar.core.views.reduced_objects import reduced_jobs  # noqa: PLC0415

    if output != "-" and not output.endswith(ENDINGS):
        raise CommandError(f"--output {output}: name a file that ends in {', '.join(ENDINGS)}, or -")
    configuration = configuration_of(config)
    objects, jobs = on_cluster(access, _read)
    engine = Engine(configuration, name)
    engine.feed(Upserted(object=cast("AnyObject", each)) for each in objects)
    seen = Seen.of(engine.tables)
    taken = Snapshot(
        time=datetime.now(UTC),
        scheduler_name=name,
        configuration=as_document(configuration),
        resources=seen.resources,
        version=__version__,
    )
    everything = chain(seen.objects(), reduced_jobs(jobs))
    if output == "-":
        sys.stdout.buffer.writelines(as_yaml(taken, everything))
        return
    try:
        write(Path(output), taken, everything)
    except OSError as error:
        raise CommandError(f"{output}: cannot be written: {why(error)}; name another file") from None
    typer.echo(
        f"{output}: {len(objects) + len(jobs):,} objects; see what is decided on them: maar plan -f {output}",
        err=True,
    )


async def _read(cluster: "ClusterClient") -> "tuple[Sequence[Object], Sequence[Job]]":
    """All that the scheduler decides with, and the jobs, whose pods may not be made yet."""
    from maar.core.model.job import Job  # noqa: PLC0415

    return await cluster.everything(), await cluster.objects(Job)


def replay(
    file: Annotated[Path, typer.Argument(help="What maar scheduler --record FILE has written.")],
) -> None:
    """Feed a recording to a fresh scheduler, and compare every plan with the recorded one, byte for byte."""
    from maar.apps.snapshots.replay import BadRecordingError, DifferenceError  # noqa: PLC0415  as long as a short run
    from maar.apps.snapshots.replay import replay as replayed  # noqa: PLC0415
    from maar.core.policy.configuration import BadConfigurationError  # noqa: PLC0415

    try:
        with file.open("rb") as lines:
            tally = replayed(lines)
    except OSError as error:
        raise CommandError(f"{file}: cannot be read: {why(error)}; name another file") from None
    except BadRecordingError as error:
        raise CommandError(f"{file}: {error}") from None
    except BadConfigurationError as error:
        raise CommandError(*(f"{file}: its configuration: {problem}" for problem in error.problems)) from None
    except DifferenceError as difference:
        raise CommandError(*(f"{file}: {sentence}" for sentence in difference.sentences)) from None
    for note in tally.notes:
        typer.echo(f"note: {file}: {note}", err=True)
    runs = "1 run" if tally.runs == 1 else f"{tally.runs:,} runs"
    typer.echo(
        f"the same plan in each of {tally.cycles:,} cycles of {runs}:"
        f" {tally.events:,} events, {tally.binds:,} binds, {tally.evictions:,} evictions"
    )
