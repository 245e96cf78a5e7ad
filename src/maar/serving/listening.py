"""Sockets that a server takes connections from."""

import errno
import socket
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


class PortTakenError(RuntimeError):
    """A port cannot be listened on: another process has it, or this one may not."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens on a port; 0 takes a free one. What goes wrong is raised as Python has it."""
    taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(1024)
    except BaseException:
        taken.close()
        raise
    return taken


def listen(host: str, port: int, flag: str = "--port") -> socket.socket:
    """Listen on the port that --host and a flag name."""
    try:
        return bound(host, port)
    except OSError as error:
        what = f"cannot listen on {host}:{port} ({error.strerror})"
        raise PortTakenError(f"{what}; {_what_to_do(port, error, flag)}") from None


def _what_to_do(port: int, error: OSError, flag: str) -> str:
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(port) or "what listens there"
        return f"stop {holder}, or name another port with {flag} (0 takes a free one)"
    if error.errno == errno.EACCES:
        return f"name a port above 1023 with {flag} (0 takes a free one)"
    return "name an address of this machine with --host"
