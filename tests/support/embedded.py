"""An embedded cluster in a folder, with a clock that a test can turn and controllers that work when told."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maar.embedded.assembly import behaviours, prepare
from maar.embedded.behaviour import ORDINARY
from maar.embedded.cluster import Cluster, Served
from maar.embedded.controllers.runner import Runner, all_controllers
from maar.embedded.resources import BUILT_IN
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.custom import packaged
from maar.embedded.store import Store

Document = dict[str, Any]


class Clock:
    """The time, as the test has it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        """Tell it."""
        return self.now


class EmbeddedCluster:
    """A cluster, and what a test does with it in few words."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.store = Clock(), Store(folder)
        schemas = [(one, builtin(one.api_version, one.kind)) for one in BUILT_IN]
        schemas += [(one.resource, one.schema) for one in packaged()]
        special = behaviours(resource for resource, _ in schemas)
        served = [
            Served(resource, schema, special.get(resource.qualified, ORDINARY))
            for resource, schema in schemas
        ]
        self.cluster = Cluster(self.store, served, clock=self.clock)
        prepare(self.cluster)
        self.rounds = Runner(self.cluster, all_controllers())

    def make(
        self,
        plural: str,
        name: str,
        namespace: str = "default",
        meta: Document | None = None,
        /,
        **rest: object,
    ) -> Document:
        """Create an object."""
        return self.cluster.create(plural, namespace, {"metadata": {"name": name, **(meta or {})}, **rest})

    def pod(
        self,
        name: str,
        namespace: str = "default",
        /,
        resources: Document | None = None,
        meta: Document | None = None,
        **spec: object,
    ) -> Document:
        """Create a pod with one container."""
        container = {"name": "main", "image": "none", "resources": resources or {}}
        return self.make("pods", name, namespace, meta, spec={"containers": [container], **spec})

    def edit(
        self, plural: str, name: str, subresource: str = "", namespace: str = "default", **fields: Document
    ) -> Document:
        """Change fields of parts of an object: spec={"volumeName": "v"}."""

        def edited(value: Document) -> Document:
            for part, changes in fields.items():
                value[part] = {**value.get(part, {}), **changes}
            return value

        return self.cluster.change(plural, namespace, name, edited, subresource)

    def run(self, name: str, namespace: str = "default", *, ready: bool = True) -> None:
        """Let a pod run."""
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"phase": "Running", "conditions": conditions}
        self.edit("pods", name, "status", namespace, status=status)

    def get(self, plural: str, name: str, namespace: str = "default") -> Document:
        """Read an object that must be there."""
        found = self.cluster.read(plural, namespace, name)
        assert found is not None, f"there is no {plural} {name}"
        return found

    def names(self, plural: str, namespace: str | None = None) -> list[str]:
        """The names of all objects of a resource."""
        return [name for _, name, _ in self.store.page(plural, namespace)]

    def settle(self, *, restart: bool = False) -> None:
        """Let the controllers work until only the clock could give them more to do."""
        if restart:
            self.rounds = Runner(self.cluster, all_controllers())
        while (wait := self.rounds.turn()) is not None and wait < 1.0:
            self.clock.now += wait


@contextmanager
def opened(folder: Path) -> Iterator[EmbeddedCluster]:
    """A cluster for as long as a test lasts."""
    embedded = EmbeddedCluster(folder)
    try:
        yield embedded
    finally:
        embedded.store.close()
