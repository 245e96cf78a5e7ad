"""Asking pods whether they answer."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from maar.apps.pod_checks import answering
from maar.core.model.writes import PodCheck


class Handler(BaseHTTPRequestHandler):
    """A pod that is ready, for those who say who they are."""

    def do_GET(self) -> None:
        """Answer."""
        is_known = self.path == "/ready" and self.headers.get("X-Who") == "maar"
        self.send_response(200 if is_known else 404)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Keep quiet."""


@contextmanager
def serving() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_pods_that_answer_are_told_from_those_that_do_not() -> None:
    with serving() as port, socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
        free.close()
        good = PodCheck(pod_uid="u", address="127.0.0.1", port=port, path="/ready", header=("X-Who", "maar"))
        connected = PodCheck(pod_uid="u", address="127.0.0.1", port=port)
        checks = (
            good,
            connected,
            PodCheck(pod_uid="u", address="127.0.0.1", port=port, path="/other"),
            PodCheck(pod_uid="u", address="127.0.0.1", port=closed),
            PodCheck(pod_uid="u", address="127.0.0.1", port=closed, path="/ready"),
            PodCheck(pod_uid="u", address="no address", port=port, path="/ready"),
            PodCheck(pod_uid="u", address="127.0.0.1", port=port, path="/ready", header=("bad\r\nname", "x")),
        )
        assert asyncio.run(answering(checks)) == {good, connected}
