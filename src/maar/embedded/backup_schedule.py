"""Backups that `maar up` keeps by itself: at the start, and now and then while something changes."""

import asyncio
import logging
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Final

from maar.embedded.backups import BadBackupError, keep_backup
from maar.embedded.generations import DamageError
from maar.embedded.storage_problems import not_stored
from maar.embedded.store import Store

EVERY_S: Final = 600.0
_SHARE: Final = 50  # of the time at most one part in so many goes into backups
_ROOM: Final = 3  # times the size of the data must be free, so that no backup fills the disk

_LOG: Final = logging.getLogger(__name__)


async def keep_backups(folder: Path, store: Store, every_s: float = EVERY_S) -> None:
    """Keep the last good copies of a cluster until cancelled; a problem is logged once, and tried again."""
    last, problem = 0, ""
    while True:
        revision, begun, found = store.revision, time.monotonic(), ""
        if revision != last:
            try:
                found = await asyncio.to_thread(_kept, folder)
                last = last if found else revision
            except (OSError, sqlite3.Error) as error:
                found = not_stored(folder, error).message
            except (DamageError, BadBackupError) as error:
                found = str(error)
        if found and found != problem:
            _LOG.warning("no backup could be made: %s", found)
        problem = found
        await asyncio.sleep(max(every_s, _SHARE * (time.monotonic() - begun)))


def _kept(folder: Path) -> str:
    """Why no backup was made, or nothing."""
    size = sum(path.stat().st_size for path in folder.glob("objects-*"))
    free = shutil.disk_usage(folder).free
    if free < _ROOM * size:
        return f"the disk with {folder} has {free >> 20:,} MiB free, and the data has {size >> 20:,} MiB"
    keep_backup(folder)
    return ""
