"""`maar replay`: whether a recorded scheduler would decide the same again."""

from pathlib import Path
from typing import Annotated

import typer

from maar.api.errors import why
from maar.cli.failure import CommandError


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
