"""Sockets that a server takes connections from."""

import errno
import socket

from maar.serving.port_holder import holder_of


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
