"""The key of a console in a file, so that an address that somebody has opened stays good."""

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

_BYTES: Final = 32
_KEY: Final = re.compile(r"[\w-]{20,200}", re.ASCII)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class KeyFileError(Exception):
    """A file that cannot hold the key: what is wrong with it, and what to do."""


def new_key() -> str:
    """A key that nobody can guess."""
    return secrets.token_urlsafe(_BYTES)


def kept_key(path: Path) -> str:
    """The key in a file; a new one is written where there is none."""
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{new_key()}\n")
        if path.stat().st_mode & _OTHERS:
            raise KeyFileError(f"the key file {path} can be read by others; run chmod 600 {path}")
        key = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise _unusable(path, error) from None
    if not _KEY.fullmatch(key):
        raise KeyFileError(
            f"the key file {path} has no key of 20 to 200 letters, digits, - and _;"
            " remove it, and the next start writes a new one"
        )
    return key


def _unusable(path: Path, error: OSError) -> KeyFileError:
    problem = (error.strerror or str(error)).lower()
    return KeyFileError(f"the key file {path} cannot be used: {problem}; name another file")
