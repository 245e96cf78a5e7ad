"""The data folder of a cluster: made, checked and held by one process, and its files written whole."""

import errno
import fcntl
import os
import re
from pathlib import Path
from typing import Final, Self

_OURS: Final = re.compile(
    r"lock|kubeconfig|\w+\.kubeconfig|\w+\.token|server\.(crt|key)|(objects-\d{6}|working|unfinished)\..*"
    r"|backups|set-aside-.*|pods|logs|.*\.log|lost\+found|\..*|.*\.\d+"
    r"|console|console-history\.sqlite.*"  # of maar console, which may have run first, and of maar up
)
_UNFINISHED: Final = re.compile(r"(\w+\.token|server\.(crt|key)|(\w+\.)?kubeconfig|objects-\d{6}\.wal)\.\d+")
_USED: Final = re.compile(r"\w+\.token|server\.(crt|key)|kubeconfig|backups|set-aside-.*")
_SHOWN: Final = 3
_CHOOSE: Final = "name a folder that does not exist yet, is empty, or was made by maar up"


class DataFolderError(RuntimeError):
    """A folder cannot be used: what is wrong with it, and what to do."""


class FolderInUseError(DataFolderError):
    """Another process has the data folder open."""


class DataFolder:
    """A folder that this process has locked until it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.is_symlink() and not path.exists():
                raise DataFolderError(f"--data {path}: this is a link that leads nowhere; {_CHOOSE}")
            if path.exists() and not path.is_dir():
                raise DataFolderError(f"--data {path}: this is a file, not a folder; {_CHOOSE}")
            path.mkdir(parents=True, exist_ok=True)
            self._check_is_ours()
            path.chmod(0o700)
            self._lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except (OSError, RuntimeError) as error:  # pathlib says RuntimeError of a loop of links
            raise unusable(path, error) from None
        try:
            self._hold()
            self._forget_unfinished()
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlock the folder."""
        os.close(self._lock)

    def _hold(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 20, 0).decode("ascii", "replace").strip()
            process = f" (process {holder})" if holder.isdecimal() else ""
            raise FolderInUseError(
                f"{self.path} is in use by another maar{process}; stop that one, or name another folder with"
                " --data"
            ) from None
        try:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            pass  # a full disk: the number is only shown to a second process

    def _forget_unfinished(self) -> None:
        """Remove what a killed process had not written to its end."""
        for path in self.path.iterdir():
            if _UNFINISHED.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _check_is_ours(self) -> None:
        """Refuse to begin a cluster where something else is kept."""
        names = sorted(path.name for path in self.path.iterdir())
        others = [name for name in names if not _OURS.fullmatch(name)]
        if others and not any(name.startswith("objects-") for name in names):
            shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
            raise DataFolderError(
                f"--data {self.path}: the folder has files that are not of a cluster ({shown}); {_CHOOSE}"
            )


def was_used(folder: Path) -> bool:
    """Whether a cluster has been served from a folder."""
    return any(_USED.fullmatch(path.name) for path in folder.iterdir())


def unusable(path: Path, error: Exception) -> DataFolderError:
    """What to say of a folder in which something cannot be done."""
    if isinstance(error, DataFolderError):
        return error
    if not isinstance(error, OSError):
        return DataFolderError(f"--data {path}: {error}; {_CHOOSE}")
    what = (error.strerror or str(error)).lower()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataFolderError(f"--data {path}: the disk is full ({what}); free some space, and start again")
    place = error.filename2 or error.filename  # of a file that gets another's name, the name that it gets
    where = f" at {place}" if place and str(place) != str(path) else ""
    return DataFolderError(
        f"--data {path}: the folder cannot be used{where} ({what}); {_CHOOSE}, and that you may write to"
    )


def write_private(path: Path, data: bytes) -> None:
    """Write a file in one step: after a crash it is the old one or the new one, and never empty."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file or the entries of a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
