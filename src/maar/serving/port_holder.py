"""Which process listens on a port of this machine, as far as we may know."""

from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTENS: Final = "0A"
_LONGEST: Final = 60  # characters of a command


def holder_of(port: int) -> str:
    """The process that listens on a TCP port, as in `process 4711 (maar up)`; nothing where unknown."""
    with suppress(OSError, ValueError, IndexError):
        sockets = {f"socket:[{inode}]" for inode in _listening(port)}
        for process in _PROC.iterdir():
            if sockets and process.name.isdecimal() and _holds(process, sockets):
                command = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                words = " ".join(Path(word).name for word in command[:3] if word).split()
                return f"process {process.name} ({' '.join(words)[:_LONGEST]})"  # in one line
    return ""


def _listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on a port."""
    found = set[str]()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            rows = (line.split() for line in (_PROC / "net" / table).read_text().splitlines()[1:])
            found |= {
                row[9] for row in rows if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port
            }
    return found


def _holds(process: Path, sockets: set[str]) -> bool:
    with suppress(OSError):  # it is not ours to look at, or has ended
        return any(str(one.readlink()) in sockets for one in (process / "fd").iterdir())
    return False
