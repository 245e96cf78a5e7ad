"""Programs of Maar on a real cluster, each as its own service account, with or without one permission."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any, Final

from support.audit import Asked, Audit
from support.control_plane import Answer, ControlPlane
from support.kubeconfigs import changed, with_token
from support.lossy import Lossy
from support.permissions import ROLES, Permission, objects, without
from support.processes import Group
from support.until import wait_until

MAAR: Final = str(Path(sys.executable).with_name("maar"))
AT_WORK: Final = ("at work", "serves at")
PAUSE_S: Final = 0.05
AT_ONCE: Final = 3  # processes that start at the same time, on two cores
LOOKS_UNTIL_SETTLED: Final = 10  # what has not come true in so many looks after a refusal does not come true

Json = dict[str, Any]
Holds = Callable[[], bool]
Story = Callable[["Stage", str], Holds]  # does something under a name, and gives how to see that it came true


class Stage:
    """A control plane that writes down who was refused what, and the processes of one program on it."""

    def __init__(
        self, plane: ControlPlane, audit: Audit, logs: Path, processes: Group, component: str
    ) -> None:
        self.plane, self.audit, self.logs = plane, audit, logs
        self.processes, self.component = processes, component
        self.connection: Lossy | None = None  # the program's to the API server, where answers can be lost

    # Accounts

    def account(self, name: str, taken: Permission | None = None) -> Path:
        """Make a service account with all permissions of the program but one; give its kubeconfig."""
        for document in without(objects(self.component), taken, name):
            path = ROLES[document["kind"]]
            if not self.get(f"{path}/{name}"):
                self.must("POST", path, document)
        token = self.must("POST", f"{ROLES['ServiceAccount']}/{name}/token", {"spec": {}})["status"]["token"]
        return changed(self.plane.kubeconfig, self.plane.folder / f"{name}.kubeconfig", with_token(token))

    @contextmanager
    def reduced_permissions(self, taken: Permission) -> Iterator[None]:
        """Take a permission away from the program that runs, for a while."""
        whole = next(one for one in objects(self.component) if one["kind"] == taken.role)
        path = f"{ROLES[taken.role]}/{whole['metadata']['name']}"
        self.must("PUT", path, without([whole], taken)[0])
        try:
            self.until(f"{taken} is forbidden", lambda: not self._may(taken))
            yield
        finally:
            self.must("PUT", path, whole)
            self.until(f"{taken} is allowed again", lambda: self._may(taken))

    def _may(self, permission: Permission) -> bool:
        resource, _, subresource = permission.resource.partition("/")
        wanted = {"group": permission.group, "resource": resource, "subresource": subresource}
        attributes = {**wanted, "verb": permission.verb, "namespace": "maar-system"}
        user = f"system:serviceaccount:maar-system:maar-{self.component}"
        review = {"spec": {"resourceAttributes": attributes, "user": user}}
        asked = self.must("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(asked["status"]["allowed"])

    # Programs

    def start(self, name: str, kubeconfig: Path, *flags: str) -> None:
        """Start the program as whoever the kubeconfig says."""
        self.processes.start(name, self._command(kubeconfig, *flags))

    def _command(self, kubeconfig: Path, *flags: str) -> list[str]:
        return [MAAR, self.component, "--kubeconfig", str(kubeconfig), *flags]

    def is_at_work(self, name: str) -> bool:
        """Whether a program has said so."""
        reported = self.processes.log(name).read_text(encoding="utf-8")
        return any(words in reported for words in AT_WORK)

    def asked(self, account: str, permission: Permission) -> Asked:
        """What the use of a permission looks like in the audit log."""
        return Asked(account, permission.verb, permission.resource, permission.group)

    def refused_start(self, name: str, kubeconfig: Path, taken: Permission, *flags: str) -> str:
        """Start without a permission; say how the story of the start fails, and nothing where it does not."""
        with Group(self.logs) as alone:
            alone.start(name, self._command(kubeconfig, *flags))
            self.until_refused(name, taken, alone)
            if taken.verb == "watch":
                wait_until(f"{name} is at work", lambda: self.is_at_work(name))
                again = self.asked(name, taken)._replace(verb="list")
                return "it lists again and again" if self.audit.allowed(again) > 1 else ""
            return "it does not begin" if stays_untrue(lambda: self.is_at_work(name)) else ""

    def until_refused(self, name: str, taken: Permission, processes: Group) -> None:
        """Wait until it has tried twice, or once where it gives up at that."""
        forbidden = self.asked(name, taken)
        wait_until(
            f"{name} is refused to {taken}",
            lambda: self.audit.denied(forbidden) >= (1 if _has_ended(processes) else 2),
        )

    # Stories

    def comes_true(self, story: Story, name: str) -> None:
        """Play a story with all permissions."""
        self.until(f"the story {name} comes true", story(self, name))

    def fails(self, story: Story, name: str, taken: Permission, account: str) -> bool:
        """Play a story while something is forbidden: whether that was refused, and the end did not come."""
        forbidden = self.asked(account, taken)
        before = self.audit.denied(forbidden)
        holds = story(self, name)
        self.until(f"{account} is refused to {taken}", lambda: self.audit.denied(forbidden) > before)
        return stays_untrue(holds)

    # Requests

    def request(self, method: str, path: str, body: object = None) -> Answer:
        """Make a request as the administrator; the server closes a connection that nobody uses for long."""
        try:
            return self.plane.request(method, path, body)
        except RemoteDisconnected:
            return self.plane.request(method, path, body)

    def must(self, method: str, path: str, body: object = None) -> Json:
        """Make a request as the administrator that has to succeed."""
        answer = self.request(method, path, body)
        assert answer.status < 300, f"{method} {path}: {answer.body.decode()}"
        found: Json = json.loads(answer.body)
        return found

    def make(self, path: str, kind: str, name: str, metadata: Json | None = None, **parts: object) -> Json:
        """Make an object as the administrator; its version is in its path."""
        version = path.removeprefix("/apis/").removeprefix("/api/").split("/namespaces/")[0]
        api_version = "/".join(version.split("/")[: 1 if path.startswith("/api/") else 2])
        whole = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **(metadata or {})}}
        return self.must("POST", path, {**whole, **parts})

    def get(self, path: str) -> Json:
        """An object as it is, empty where there is none."""
        answer = self.request("GET", path)
        found: Json = json.loads(answer.body) if answer.status == 200 else {}
        return found

    def until(self, what: str, holds: Holds) -> None:
        """Wait for something; a program that has ended by itself is an error."""

        def watched() -> bool:
            self.processes.check()
            return holds()

        wait_until(what, watched)


def _has_ended(processes: Group) -> bool:
    try:
        processes.check()
    except ChildProcessError:
        return True
    return False


def stays_untrue(holds: Holds) -> bool:
    """Whether something does not come true, in a time in which it would have."""
    for _ in range(LOOKS_UNTIL_SETTLED):
        if holds():
            return False
        time.sleep(PAUSE_S)
    return True


class Starts:
    """Starts without one permission each, several at a time, while no story is told they could disturb."""

    def __init__(self, stage: Stage, taken: list[Permission], *flags: str) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        accounts = [(f"without-{number}", one) for number, one in enumerate(taken)]
        made = [(name, stage.account(name, one), one) for name, one in accounts]
        self._ends: dict[Permission, Future[str]] = {
            one: self._pool.submit(stage.refused_start, name, kubeconfig, one, *flags)
            for name, kubeconfig, one in made
        }

    def end_of(self, taken: Permission) -> str:
        """How the start failed without this permission."""
        return self._ends[taken].result()

    def close(self) -> None:
        """Wait for those under way."""
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def stage_of(folder: Path, component: str) -> Iterator[Stage]:
    """A control plane for one program, with Maar's definitions and the namespace of its own."""
    audit = Audit(folder)
    logs = folder / "maar"
    logs.mkdir()
    with ControlPlane(folder, api_server_flags=audit.flags()) as plane, Group(logs) as processes:
        stage = Stage(plane, audit, logs, processes, component)
        plane.kubectl("create", "namespace", "maar-system")
        plane.kubectl("apply", "-f", str(Path(__file__).parents[2] / "deploy" / "crds"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        yield stage
    audit.close()
