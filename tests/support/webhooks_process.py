"""`maar webhooks` beside a real control plane, as a laptop runs it."""

import signal
import socket
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cryptography import x509

from support.control_plane import ControlPlane
from support.processes import Group

ROOT: Final = Path(__file__).parents[2]
MAAR: Final = str(Path(sys.executable).with_name("maar"))
QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
CONFIGURATION: Final = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    "/volcano-admission-service-queues-validate"
)
CLUSTER_USER: Final = ("--cluster-user", "admin")  # as whom the controllers of this control plane run


class Webhooks:
    """`maar webhooks` in processes of their own."""

    def __init__(self, plane: ControlPlane, processes: Group) -> None:
        self.plane, self._processes = plane, processes
        self.port = free_port()

    def start(self, *flags: str, name: str = "webhooks") -> None:
        """Start it, and wait until the API server asks it."""
        url = f"https://127.0.0.1:{self.port}"
        command = [MAAR, "webhooks", "--url", url, "--kubeconfig", str(self.plane.kubeconfig), *flags]
        self._processes.start(name, command)
        self.plane.until("it asks the webhooks", self.answers)

    def stop(self, name: str = "webhooks", by: signal.Signals = signal.SIGTERM) -> None:
        """Stop it, as Kubernetes does unless told otherwise."""
        self._processes.stop(name, by)

    def answers(self) -> bool:
        """Whether a queue can be created now; it is not."""
        self._processes.check()
        return self.plane.request("POST", f"{QUEUES}?dryRun=All", queue("probe")).status == 201

    def serial(self, port: int = 0) -> int:
        """Which certificate a new connection gets."""
        pem = ssl.get_server_certificate(("127.0.0.1", port or self.port))
        return x509.load_pem_x509_certificate(pem.encode()).serial_number

    def reported(self) -> str:
        """All that it has said."""
        return self._processes.log("webhooks").read_text()


@contextmanager
def webhooks_beside(
    folder: Path, *more: str, api_server_flags: Mapping[str, str] | None = None
) -> Iterator[Webhooks]:
    """A control plane that asks them about everything they judge."""
    (folder / "plane").mkdir()
    with (
        ControlPlane(folder / "plane", controllers=True, api_server_flags=api_server_flags) as plane,
        Group(folder) as processes,
    ):
        plane.kubectl("create", "namespace", "maar-system")
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "crds"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "webhooks"))
        running = Webhooks(plane, processes)
        running.start(*CLUSTER_USER, *more)
        yield running
        running.stop()
        assert "Traceback" not in running.reported()


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def queue(name: str, **spec: object) -> dict[str, object]:
    """A queue."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }
