"""Stories on a real cluster: Maar's programs beside it, and kubectl for everything that people do and see."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from support.control_plane import ControlPlane
from support.processes import Group
from support.until import wait_until
from support.webhooks_process import CLUSTER_USER, free_port

T = TypeVar("T")
Document = dict[str, Any]

ROOT: Final = Path(__file__).parents[2]
MAAR: Final = str(Path(sys.executable).with_name("maar"))
NODES: Final = ("n1", "n2")
SIZE: Final = {"cpu": "4", "memory": "16Gi", "pods": "110"}
PAUSE_S: Final = 0.1
SHORT_GRACE: Final = """
configurations:
  - name: cleanup
    arguments: {gracePeriod: 2s}
"""
VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
SCHEDULER: Final = "volcano"


class Story:
    """A cluster of two nodes with four processors each, that a test tells a story on."""

    def __init__(self, plane: ControlPlane, maar: Group, configuration: Path) -> None:
        self.plane, self.maar = plane, maar
        self.kubectl = plane.kubectl
        self._configuration = configuration
        self._commands: dict[str, list[str]] = {}

    def apply(self, *documents: Document) -> None:
        """What people write, all of it at once."""
        self.kubectl(
            "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        )

    def apply_together(self, *documents: Document) -> None:
        """Let everything be there before anything of it can run."""
        self.kubectl("cordon", *NODES)
        self.apply(*documents)
        self.kubectl("uncordon", *NODES)

    def get(self, kind: str, name: str, namespace: str = "default") -> Document:
        """An object as it is now; nothing of it where it is not there."""
        found = self.kubectl("get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found").stdout
        return dict(json.loads(found)) if found else {}

    def all(self, kind: str) -> list[Document]:
        """All objects of a kind, in whatever namespace."""
        return list(json.loads(self.kubectl("get", kind, "-A", "-o", "json").stdout)["items"])

    def nodes_of(self, group: str) -> dict[str, str]:
        """Where the pods of a group are; those that go and those that wait are nowhere."""
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in self.all("pods")
            if one["metadata"]["labels"]["group"] == group
            and one["spec"].get("nodeName")
            and "deletionTimestamp" not in one["metadata"]
        }

    def running(self, *groups: str) -> dict[str, int]:
        """How many pods of each group have their node."""
        return {group: len(self.nodes_of(group)) for group in groups}

    def shares(self, word: str, *queues: str) -> dict[str, int]:
        """What the status of queues says in processors: deserved, used, allocated."""
        found = {one["metadata"]["name"]: one.get("status", {}).get(word, {}) for one in self.all("queues")}
        return {name: int(found.get(name, {}).get("cpu", "0")) for name in queues}

    def state(self, queue: str) -> str:
        """Open, Closing or Closed."""
        return str(self.get("queue", queue).get("status", {}).get("state", ""))

    def phase(self, group: str) -> str:
        """The phase of a pod group."""
        return str(self.get("podgroup", group).get("status", {}).get("phase", ""))

    def reason(self, group: str, namespace: str = "default") -> tuple[str, str]:
        """Why a pod group waits: the reason and the message of its condition."""
        found = self.get("podgroup", group, namespace).get("status", {}).get("conditions", [])
        conditions = [(one["reason"], one["message"]) for one in found if one["type"] == "Unschedulable"]
        return conditions[0] if conditions else ("", "")

    def events(self, kind: str, name: str) -> list[tuple[str, str]]:
        """What was told about an object: reasons and messages."""
        about = f"involvedObject.kind={kind},involvedObject.name={name}"
        found = self.kubectl("get", "events", "-A", "-o", "json", "--field-selector", about).stdout
        return [(one["reason"], one["message"]) for one in json.loads(found)["items"]]

    def evictions(self, group: str) -> set[str]:
        """By what action and for whom pods of a group were evicted."""
        found = self.kubectl("get", "events", "-A", "-o", "json", "--field-selector", "reason=Evict").stdout
        return {
            one["message"].partition(":")[0]
            for one in json.loads(found)["items"]
            if one["involvedObject"]["name"].startswith(f"{group}-")
        }

    def until(self, what: str, look: Callable[[], T], expected: T) -> None:
        """Wait until what is seen is what is expected; fail with what was seen last."""
        self.until_holds(what, look, lambda seen: seen == expected)

    def until_holds(self, what: str, look: Callable[[], T], holds: Callable[[T], bool]) -> None:
        """Wait until it holds of what is seen."""
        last = list[T]()

        def is_seen() -> bool:
            last[:] = [look()]
            if holds(last[0]):
                return True
            self.maar.check()
            return False

        wait_until(lambda: f"{what}; last seen: {last[0]!r}", is_seen, PAUSE_S)

    def configure(self, text: str) -> None:
        """Give the running scheduler another configuration."""
        times = self._taken_over()
        self._configuration.write_text(text, encoding="utf-8")
        self.until("it is taken over", self._taken_over, times + 1)

    def _taken_over(self) -> int:
        return self.maar.log("scheduler").read_text(encoding="utf-8").count("configuration taken over")

    def run_maar(self, *arguments: str) -> str:
        """Run `maar` as people do, and give what it printed."""
        command = [MAAR, *arguments, "--kubeconfig", str(self.plane.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"maar {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
        return done.stdout

    def start(self, part: str, *flags: str) -> None:
        """Start one of Maar's programs."""
        self._commands[part] = [MAAR, part, "--kubeconfig", str(self.plane.kubeconfig), *flags]
        self.maar.start(part, self._commands[part])

    def restart(self, part: str) -> None:
        """End one of Maar's programs and start it again."""
        self.maar.stop(part, signal.SIGTERM)
        self.maar.start(part, self._commands[part])

    def clear(self) -> None:
        """Take everything away again: work first, then the queues, which have to be closed for that."""
        self.kubectl("uncordon", *NODES)
        self.kubectl("delete", "replicasets,pdb,podgroups", "--all", "-A")
        self.kubectl("delete", "pods", "--all", "-A", "--force", "--grace-period=0")
        above = {one["metadata"]["name"]: one["spec"].get("parent", "") for one in self.all("queues")}
        ours = sorted(above.keys() - {"root", "default"}, key=lambda name: -_depth(name, above))
        if ours:
            self.kubectl("patch", "queue", *ours, "--type=merge", "-p", '{"spec":{"state":"Closed"}}')
            self.until("all queues are closed", lambda: {self.state(one) for one in ours}, {"Closed"})
        for name in ours:
            self.kubectl("delete", "queue", name)


@contextmanager
def cluster(folder: Path, stages: str = "") -> Iterator[Story]:
    """A real control plane with KWOK's nodes, and Maar's three programs as processes beside it."""
    (folder / "plane").mkdir()
    kwok_stages = folder / "stages.yaml" if stages else None
    if kwok_stages:
        kwok_stages.write_text(stages, encoding="utf-8")
    control_plane = ControlPlane(folder / "plane", controllers=True, kwok=True, kwok_stages=kwok_stages)
    with control_plane as plane, Group(folder) as maar:
        plane.kubectl("create", "namespace", "maar-system")
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "crds"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
        plane.kubectl("apply", "-f", str(ROOT / "deploy" / "webhooks"))
        plane.make_nodes(NODES, SIZE)
        url = f"https://127.0.0.1:{free_port()}"
        configuration = folder / "scheduler.yaml"
        configuration.write_text(SHORT_GRACE, encoding="utf-8")
        story = Story(plane, maar, configuration)
        flags = {
            "webhooks": ("--url", url, *CLUSTER_USER),
            "scheduler": ("--config", str(configuration)),
            "controllers": (),
        }
        for part, more in flags.items():
            story.start(part, *more)
            if part == "webhooks":  # nobody can write before they answer
                story.until("webhooks judge", lambda: _is_judged(story), expected=True)
        story.until("the root is open", lambda: story.state("root"), "Open")
        story.until("the scheduler works", lambda: story.shares("deserved", "root"), {"root": 8})
        yield story
        maar.check()
        for part in flags:
            maar.stop(part, signal.SIGTERM)
            assert "Traceback" not in maar.log(part).read_text(), part


def queue(name: str, **spec: object) -> Document:
    """A queue."""
    return {"apiVersion": VOLCANO, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def work(name: str, queue: str, pods: int = 1, *, least: int = 1, **options: Any) -> list[Document]:  # noqa: ANN401  # plain data
    """A pod group and its pods, `least` of which start together; `options` are those of `pods_of`."""
    spec: Document = {"minMember": least, "queue": queue}
    if "priority" in options:
        spec["priorityClassName"] = options["priority"]
    return [group(name, options.get("namespace", "default"), **spec), *pods_of(name, pods, **options)]


def replica_set(name: str, queue: str, count: int) -> Document:
    """Pods that come back when they are evicted, as most do."""
    pod = pods_of(name, 1)[0]
    template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {"scheduling.volcano.sh/queue-name": queue},
        },
        "spec": {"replicas": count, "selector": {"matchLabels": {"group": name}}, "template": template},
    }


def group(name: str, namespace: str = "default", **spec: object) -> Document:
    """A pod group."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": VOLCANO, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def pods_of(
    group: str,
    count: int,
    *,
    cpu: int = 1,
    namespace: str = "default",
    priority: str = "",
    more: Mapping[str, object] | None = None,
) -> list[Document]:
    """The pods of a group, numbered from 0; `more` is in the spec of each."""
    requests = {"requests": {"cpu": cpu}} if cpu else {}
    spec: Document = {
        "schedulerName": SCHEDULER,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "busybox", "resources": requests}],
        **({"priorityClassName": priority} if priority else {}),
        **(more or {}),
    }
    metadata = {
        "namespace": namespace,
        "labels": {"group": group},
        "annotations": {"scheduling.k8s.io/group-name": group},
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{group}-{number}", **metadata},
            "spec": spec,
        }
        for number in range(count)
    ]


_NO_QUEUE: Final = json.dumps(queue("probe", parent="nowhere"))


def on_both_nodes(name: str, queue: str) -> list[Document]:
    """A gang of four with two pods on each node."""
    pods: list[Document] = []
    for number, node in enumerate(NODES):
        there = pods_of(name, 4, more={"nodeSelector": {"kubernetes.io/hostname": node}})
        pods += there[2 * number : 2 * number + 2]
    return [group(name, minMember=4, queue=queue), *pods]


def _is_judged(story: Story) -> bool:
    done = story.kubectl("create", "-f", "-", stdin=_NO_QUEUE, check=False)
    return "queue-parent-exists" in done.stderr


def _depth(name: str, above: Mapping[str, str]) -> int:
    return 1 + _depth(above[name], above) if name in above and name != "root" else 0
