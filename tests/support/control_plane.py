"""A real Kubernetes control plane on loopback, for tests and benchmarks: processes that end when we do."""

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from support.control_plane_settings import LOOPBACK, Settings
from support.processes import Group
from support.programs import find_binaries, in_time
from support.until import TIMEOUT_S, wait_until

__all__ = ["Answer", "ControlPlane", "find_binaries"]

KEPT_S: Final = 20  # the API server closes connections that are idle for longer
NODE_SIZE: Final = {"cpu": "8", "memory": "32Gi", "pods": "110"}


class Answer(NamedTuple):
    """What the API server answered."""

    status: int
    body: bytes
    warnings: list[str]


class ControlPlane:
    """etcd and kube-apiserver and, on request, the controllers, the scheduler and KWOK's virtual kubelets."""

    def __init__(
        self,
        folder: Path,
        *,
        controllers: bool = False,
        scheduler: bool = False,
        kwok: bool = False,
        kwok_stages: Path | None = None,
        api_server_flags: Mapping[str, str] | None = None,
    ) -> None:
        binaries = find_binaries()
        if binaries is None:
            raise FileNotFoundError("the programs of a control plane are missing: run make kubernetes")
        self._binaries = binaries
        self._settings = Settings(folder)
        self._controllers, self._scheduler, self._kwok = controllers, scheduler, kwok
        self._kwok_stages = kwok_stages
        self._api_server_flags = api_server_flags or {}
        self._requested = 0.0  # when the last request was made
        self.folder: Final = folder
        self.kubeconfig: Final = self._settings.kubeconfig
        self.token: Final = self._settings.token
        self.server: Final = f"https://{LOOPBACK}:{self._settings.port}"
        self.etcd: Final = f"http://{LOOPBACK}:{self._settings.etcd_port}"
        self.environment: Final = {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(folder / "kubectl"),
            "KUBERC": "off",
            "KWOK_WORKDIR": str(folder / "kwok"),
        }

    def __enter__(self) -> Self:
        with ExitStack() as life:
            life.callback(shutil.rmtree, self._settings.etcd_data, ignore_errors=True)  # the logs stay
            self._processes = life.enter_context(Group(self.folder))
            self._run("etcd", self._settings.etcd())
            self._run_api_server()
            self.until("it has made its certificate", self._settings.certificate_key.exists)
            self._settings.write_kubeconfig()
            self._connection = life.enter_context(closing(self._trusting_connection()))
            self._until_ready()
            if self._controllers:
                self._run("kube-controller-manager", self._settings.controllers(kubelets=self._kwok))
                account = "/api/v1/namespaces/default/serviceaccounts/default"
                self.until("it has a default service account", lambda: self.found(account))
            if self._scheduler:
                self._run("kube-scheduler", self._settings.scheduler())
            if self._kwok:
                self._run("kwok", self._settings.kwok(self._kwok_stages))
            self._life = life.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._life:
            if error is None:
                self._processes.check()
            else:
                error.add_note(self._processes.last_words())

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator; a failure raises with what it said, unless told not to check."""
        ended = subprocess.run(
            [self._binaries / "kubectl", *in_time(arguments)],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * TIMEOUT_S,
            check=False,
        )
        if check and ended.returncode:
            self._processes.check()
            raise ChildProcessError(
                f"kubectl {' '.join(arguments)} ended with {ended.returncode}: {ended.stderr}"
            )
        return ended

    def request(self, method: str, path: str, body: object = None) -> Answer:
        """Make one request as the administrator, over a connection that is kept; one thread at a time."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        content = None if body is None else json.dumps(body)
        now = time.monotonic()
        if now - self._requested > KEPT_S:
            self._connection.close()  # opened again by the request
        self._requested = now
        try:
            self._connection.request(method, path, content, headers)
            with self._connection.getresponse() as answer:
                return Answer(answer.status, answer.read(), answer.headers.get_all("Warning", []))
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next request opens it again
            raise

    def found(self, path: str) -> bool:
        """Whether there is something at a path, now."""
        try:
            return self.request("GET", path).status == HTTPStatus.OK
        except (ConnectionError, ssl.SSLEOFError, http.client.HTTPException):
            return False

    def until(self, condition: str, holds: Callable[[], bool]) -> None:
        """Wait until something holds of the API server; raise if a process ends or it takes too long."""

        def watched() -> bool:
            self._processes.check()
            return holds()

        wait_until(lambda: f"{condition}.\n{self._processes.last_words()}", watched)

    def make_nodes(
        self,
        names: Iterable[str],
        size: Mapping[str, str] = NODE_SIZE,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Make nodes that take pods: admission taints a new node, and nobody here takes the taint away."""
        condition = {"type": "Ready", "status": "True", "reason": "Made", "message": "made for a test"}
        for name in names:
            node = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
                "status": {"capacity": size, "allocatable": size, "conditions": [condition]},
            }
            for made in (
                self.request("POST", "/api/v1/nodes", node),
                self.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}),
            ):
                if made.status >= HTTPStatus.BAD_REQUEST:
                    raise RuntimeError(f"the node {name} was refused: {made.body.decode()}")

    def stop_api_server(self, by: signal.Signals = signal.SIGTERM) -> None:
        """End the API server, politely or not; etcd keeps what was written."""
        self._processes.stop("kube-apiserver", by)
        self._connection.close()

    def start_api_server(self) -> None:
        """Start the API server again, at the same address, and wait until it is ready."""
        self._run_api_server()
        self._until_ready()

    def _run_api_server(self) -> None:
        flags = self._settings.api_server(service_accounts=self._controllers)
        self._run("kube-apiserver", {**flags, **self._api_server_flags})

    def _until_ready(self) -> None:
        self.until("it is ready", lambda: self.found("/readyz"))
        self.until("it has made the default namespace", lambda: self.found("/api/v1/namespaces/default"))

    def _run(self, program: str, flags: Mapping[str, str]) -> None:
        options = (f"--{name}={value}" for name, value in flags.items())
        self._processes.start(program, [str(self._binaries / program), *options], self.environment)

    def _trusting_connection(self) -> http.client.HTTPSConnection:
        trusted = ssl.create_default_context(cafile=self._settings.certificate)
        return http.client.HTTPSConnection(LOOPBACK, self._settings.port, timeout=TIMEOUT_S, context=trusted)
