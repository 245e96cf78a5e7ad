"""Opening a data folder: all that was acknowledged, or a sentence on what is damaged and what to do."""

import shlex
from pathlib import Path

from maar.embedded.backups import good_backups
from maar.embedded.data_folder import DataFolderError, was_used
from maar.embedded.generations import DamageError, Generations, newest


class DamagedFolderError(DataFolderError):
    """Something that was acknowledged is not there."""


def open_generations(folder: Path) -> Generations:
    """The generations of a folder that this process has to itself."""
    try:
        if newest(folder) is None and was_used(folder):
            raise DamageError(folder, "without its objects, although a cluster has been served from it")  # noqa: TRY301
        return Generations(folder)
    except DamageError as error:
        raise DamagedFolderError(f"{error}; {advice(folder)}") from None


def advice(folder: Path) -> str:
    """How to go on from damage: the newest backup that is good, or what can still be read."""
    data = shlex.quote(str(folder))
    rest = f"to keep all that can still be read instead: maar restore --salvage --data {data}"
    for path, backup in good_backups(folder):
        return (
            f"the newest good backup is of {backup.time} ({backup.objects:,} objects, revision"
            f" {backup.revision}); to go on from it: maar restore {shlex.quote(str(path))} --data {data};"
            f" {rest}"
        )
    return (
        "no good backup is in the folder; to go on from one that you have elsewhere:"
        f" maar restore FILE --data {data}; {rest}"
    )
