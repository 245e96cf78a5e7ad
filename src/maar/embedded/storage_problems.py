"""What clients are told when something cannot be written to the disk."""

import errno
import sqlite3
from http import HTTPStatus
from pathlib import Path
from typing import Final

from maar.embedded.failures import ApiError

RETRY_AFTER_S: Final = 1
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotStoredError(ApiError):
    """The disk did not take a write; a later one may succeed."""


def not_stored(folder: Path, error: OSError | sqlite3.Error) -> NotStoredError:
    """The refusal of a write that the disk did not take: a full disk, or one that fails."""
    details: dict[str, object] = {"retryAfterSeconds": RETRY_AFTER_S}
    if _is_full(error):
        return NotStoredError(
            HTTPStatus.INSUFFICIENT_STORAGE,
            "InsufficientStorage",
            f"the disk with {folder} is full, and nothing of this request was stored; free some space there:"
            " maar goes on by itself",
            details,
        )
    what = error.strerror if isinstance(error, OSError) else str(error)
    return NotStoredError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "InternalError",
        f"the disk with {folder} cannot be written ({what}), and this request was not stored; check the disk"
        " and its mount, then start maar up again if it does not go on by itself",
        details,
    )


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
