"""Submits the workload of the demo: groups at their time, and evicted pods again."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field

from maar.apps.demo.clock import Clock
from maar.apps.demo.hour import Group, Json, pod_documents, pod_group_document
from maar.apps.demo.record import Record
from maar.core.model.kinds import kind_of
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done, Outcome
from maar.kube.paths import resource_path_of
from maar.kube.write import create, delete, patch


class DemoError(Exception):
    """An error that ends the demo, as a sentence."""


@dataclass(eq=False)
class Submitter:
    """Submits work for the teams, and changes queues as the administrator."""

    server: ApiServer
    clock: Clock
    record: Record
    _pods: dict[str, Json] = field(default_factory=dict)  # of all that has been submitted, by key

    async def found(self, organisation: Iterable[Json]) -> None:
        """Create the namespaces and queues of the organisation, in the order of the files."""
        for document in organisation:
            kind = kind_of(str(document.get("apiVersion")), str(document.get("kind")))
            if kind is None:
                raise DemoError(f"the organisation has a {document.get('kind')}, which Maar does not read")
            await self._make(kind, _key(kind, document), document)

    async def play(self, groups: Iterable[Group]) -> None:
        """Submit groups at their minute, and evicted pods again once they are deleted."""
        async with asyncio.TaskGroup() as tasks:
            self.record.lost = lambda pod: _start(tasks, self._again(pod))
            busy = set[str]()
            for group in groups:
                await self.clock.until(group.minute)
                if group.queue not in busy:
                    busy.add(group.queue)
                    self.record.add_line(f"{group.queue} begins to submit work")
                tasks.create_task(self.submit(group))
            await asyncio.Event().wait()  # what is evicted later is submitted again, too

    async def submit(self, group: Group) -> None:
        """Submit a group and its pods."""
        _insist(await self.offer(group), f"PodGroup {group.key}")
        pods = pod_documents(group, self.clock.speed)
        self._pods.update(pods)
        async with asyncio.TaskGroup() as tasks:
            for key, document in pods.items():
                tasks.create_task(self._make(Pod, key, document))

    async def offer(self, group: Group) -> Outcome:
        """Submit a group without its pods; the server may refuse it."""
        self.record.submit(group.key, group.queue)
        outcome = await create(self.server, resource_path_of(PodGroup), group.key, pod_group_document(group))
        if not isinstance(outcome, Done):
            self.record.withdraw(group.key)
        return outcome

    async def change_queue(self, name: str, spec: Json) -> None:
        """Change a queue, as its administrator."""
        _insist(await patch(self.server, resource_path_of(Queue), name, {"spec": spec}), f"Queue {name}")

    async def _again(self, pod: str) -> None:
        """Submit a pod again, as the controller of a job would."""
        if pod not in self._pods:
            return
        if pod in self.record.pods:  # it failed, and has to go first
            await delete(self.server, resource_path_of(Pod), pod)
            await self.record.until(lambda: pod not in self.record.pods)
        await self._make(Pod, pod, self._pods[pod])

    async def _make(self, kind: type[Object], key: str, document: Json) -> None:
        _insist(await create(self.server, resource_path_of(kind), key, document), f"{kind.__name__} {key}")


def _insist(outcome: Outcome, what: str) -> None:
    if not isinstance(outcome, Done):
        raise DemoError(f"{what}: the API server refuses it: {outcome.message}")


def _start(tasks: asyncio.TaskGroup, work: Coroutine[None, None, None]) -> None:
    tasks.create_task(work)


def _key(kind: type[Object], document: Json) -> str:
    metadata = document.get("metadata")
    name, namespace = (
        (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else ("", "")
    )
    return f"{namespace or 'default'}/{name}" if kind.namespaced else str(name)
