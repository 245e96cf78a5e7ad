"""Backups that `maar up` keeps by itself: at the start, now and then while something changes, at the end."""

import asyncio
import logging
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Final

from maar.embedded.backups import BadBackupError, keep_backup, kept
from maar.embedded.generations import DamageError
from maar.embedded.storage_problems import disk_problem
from maar.embedded.store import Store

_EVERY_S: Final = 600.0
_FIRST_S: Final = 60.0
_SHARE: Final = 50  # of the time at most one part in so many goes into backups
_FREE_SPACE: Final = 3  # times the size of the data must be free, so that no backup fills the disk

_LOG: Final = logging.getLogger(__name__)


async def keep_backups(
    folder: Path, store: Store, every_s: float = _EVERY_S, first_s: float = _FIRST_S
) -> None:
    """Keep the last good copies of a cluster until cancelled; a problem is logged once, and tried again.

    The first is often of an empty cluster, so the second does not wait for long.
    """
    last, made, problem = 0, 0, ""
    while True:
        revision, started, found = store.revision, time.monotonic(), ""
        if revision != last:
            found = await asyncio.to_thread(_problem, folder)
            last, made = (last, made) if found else (revision, made + 1)
        if found and found != problem:
            _LOG.warning("no backup could be made: %s", found)
        problem = found
        pause_s = every_s if made > 1 else min(first_s, every_s)
        await asyncio.sleep(max(pause_s, _SHARE * (time.monotonic() - started)))


def keep_last_backup(folder: Path, store: Store) -> None:
    """Keep what a cluster is when it stops, unless the newest backup has it already."""
    newest = next(iter(kept(folder)), None)
    if newest is not None and newest.name.endswith(f"-r{store.revision}.backup"):
        return
    if found := _problem(folder):
        _LOG.warning("no backup could be made: %s", found)


def _problem(folder: Path) -> str:
    """Make a backup; why that could not be done, or nothing."""
    try:
        return _kept(folder)
    except (OSError, sqlite3.Error) as error:
        return disk_problem(folder, error)
    except (DamageError, BadBackupError) as error:
        return str(error)


def _kept(folder: Path) -> str:
    """Why no backup was made, or nothing."""
    size = sum(path.stat().st_size for path in folder.glob("objects-*"))
    free = shutil.disk_usage(folder).free
    if free < _FREE_SPACE * size:
        return f"the disk with {folder} has {free >> 20:,} MiB free, and the data has {size >> 20:,} MiB"
    keep_backup(folder)
    return ""
