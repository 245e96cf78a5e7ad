"""The answers to clients when the disk cannot be written or read."""

import errno
import sqlite3
from http import HTTPStatus
from pathlib import Path
from typing import Final

from maar.embedded.failures import ApiError

RETRY_AFTER_S: Final = 1  # for Maar's own parts
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotStoredError(ApiError):
    """The disk did not take a write; a later one may succeed."""


def disk_problem(folder: Path, error: OSError | sqlite3.Error) -> str:
    """What is wrong with the disk, as a sentence."""
    if _is_full(error):
        return f"the disk with {folder} is full; free some space there: maar goes on by itself"
    what = error.strerror if isinstance(error, OSError) else str(error)
    return (
        f"the disk with {folder} cannot be written ({what}); check the disk and its mount, then start maar up"
        " again if it does not go on by itself"
    )


def not_stored(folder: Path, error: OSError | sqlite3.Error) -> NotStoredError:
    """The refusal of a write that the disk did not take: a full disk, or one that fails.

    It names no time to try again: kubectl would do so ten times in silence, for each object.
    """
    message = f"nothing of this request was stored: {disk_problem(folder, error)}"
    if _is_full(error):
        return NotStoredError(HTTPStatus.INSUFFICIENT_STORAGE, "InsufficientStorage", message)
    return NotStoredError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message)


def _is_full(error: OSError | sqlite3.Error) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def unreadable(error: OSError | sqlite3.Error) -> ApiError:
    """The answer to a request for which something could not be read from the disk."""
    what = error.strerror if isinstance(error, OSError) else str(error)
    return ApiError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "InternalError",
        f"the disk with the data folder cannot be read ({what}); check the disk, then start maar up again",
    )
