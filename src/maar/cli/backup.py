"""`maar backup` and `maar restore`: copies of a cluster's objects, and the way back to one."""

import errno
import os
from pathlib import Path
from typing import Annotated, Final

import typer

from maar.cli.failure import CommandError

_EXAMPLE: Final = "maar.backup"
_DataOption = Annotated[
    Path | None,
    typer.Option(help="The data folder of the cluster; without it, the one in the user's data folder."),
]


def backup(
    data: _DataOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; without it, one among the folder's backups."),
    ] = None,
) -> None:
    """Back up the objects of a cluster of maar up, which may be running, into one file."""
    from maar.cli.up import data_folder  # noqa: PLC0415
    from maar.embedded.backups import FOLDER, BadBackupError, file_name, read_backup, write_backup  # noqa: PLC0415
    from maar.embedded.data_folder import DataFolderError  # noqa: PLC0415
    from maar.embedded.generations import DamageError  # noqa: PLC0415
    from maar.embedded.opening import advice  # noqa: PLC0415

    folder = (data or data_folder()).absolute()
    try:
        if output is not None and output.is_dir():
            raise CommandError(f"{output}: this is a folder; name a file in it, such as {output / _EXAMPLE}")
        target = output or folder / FOLDER / f"{os.getpid()}.unfinished"
        if output is None and folder.is_dir():
            target.parent.mkdir(mode=0o700, exist_ok=True)
        made = write_backup(folder, target)
        read_backup(target)
        if output is None:
            target = target.rename(target.with_name(file_name(made)))
    except (BadBackupError, DataFolderError) as error:
        raise CommandError(str(error)) from None
    except DamageError as error:
        raise CommandError(f"{error}; {advice(folder)}") from None
    except OSError as error:
        raise CommandError(_unwritable(error, output or folder)) from None
    typer.echo(
        f"{target}: {made.objects:,} objects at revision {made.revision}, {target.stat().st_size:,} bytes"
    )


def restore(
    file: Annotated[Path | None, typer.Argument(help="A file that maar backup or maar up wrote.")] = None,
    data: _DataOption = None,
    salvage: Annotated[
        bool,
        typer.Option(
            "--salvage", help="Instead of a backup, keep all that can still be read of damaged files."
        ),
    ] = False,
) -> None:
    """Put a backup in place of what a data folder has; the files that were there are set aside."""
    from maar.cli.up import data_folder  # noqa: PLC0415
    from maar.embedded import restoring  # noqa: PLC0415
    from maar.embedded.backups import BadBackupError  # noqa: PLC0415
    from maar.embedded.data_folder import DataFolderError  # noqa: PLC0415

    folder = (data or data_folder()).absolute()
    if (file is None) is not salvage:
        raise CommandError(
            "name one thing to restore: a backup (maar restore FILE --data DIR; those that maar up keeps are"
            " in DIR/backups), or --salvage for what can still be read"
        )
    try:
        done = restoring.salvage(folder) if file is None else restoring.restore(file, folder)
    except (BadBackupError, DataFolderError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(_unwritable(error, folder)) from None
    typer.echo(f"{folder} has {done.objects:,} objects as they were at revision {done.revision}.")
    if done.running:
        typer.echo(
            f"{done.running:,} of them are pods and jobs: maar up --local runs their commands on this machine"
            " as you. Start it only if you trust the backup."
        )
    if done.acknowledged > done.revision:
        typer.echo(f"Later writes, up to revision {done.acknowledged}, are not among them.")
    if done.set_aside is not None:
        typer.echo(f"What was there before is in {done.set_aside}; delete it when you no longer need it.")


def _unwritable(error: OSError, place: Path) -> str:
    what, parent = (error.strerror or str(error)).lower(), place.parent
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}: {what}; free some space, or name a place that has some"
    if not parent.is_dir():
        return f"{place}: there is no folder {parent}; make it, or name another place"
    return f"{error.filename2 or error.filename or place}: {what}; name a place that you may write to"
