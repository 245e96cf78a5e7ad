"""The objects of a cluster as commands ask for them; every way to fail is a sentence with the next step."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import msgspec
import typer

from maar.cli.cluster.access import Access
from maar.cli.cluster.refusal import Operation, refusal, refusal_of_list
from maar.cli.failure import CommandError
from maar.cli.up import data_folder
from maar.core.model.events import Event
from maar.core.model.job import Job
from maar.core.model.kinds import BadObjectError, ObjectT, plain
from maar.core.model.metadata import Object
from maar.core.model.queue import DEFAULT, ROOT, Queue
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.listing import objects, read_pages, selection
from maar.kube.outcome import Done, Gone, Outcome
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.sources import CredentialsError, NoClusterError
from maar.kube.watch import Watch, unless_repeated
from maar.kube.write import Propagation, create, delete, get, patch

Document = dict[str, object]

RETRY_TIMEOUT_S: Final = 1.5  # a person waits for the command
_LONGEST_SILENCE_S: Final = 7 * 24 * 3600.0  # of a pod that is followed


@asynccontextmanager
async def connected(access: Access) -> AsyncIterator["ClusterClient"]:
    """Connect to a cluster."""
    try:
        credentials = await load(access.kubeconfig, access.context)
        if access.server:
            address = access.server if "://" in access.server else f"https://{access.server}"
            credentials.proofs = replace(credentials.proofs, server=address.rstrip("/"))
        way = ApiServer(credentials, retry_timeout_s=RETRY_TIMEOUT_S, warn=_warn)
    except NoClusterError as error:
        if (ours := data_folder() / "kubeconfig").is_file():
            there = f"maar up has one: export KUBECONFIG={shlex.quote(str(ours))}"
            raise CommandError(
                f"no cluster is configured; {there}, and start it if it does not run"
            ) from None
        raise CommandError(str(error)) from None
    except CredentialsError as error:
        advice = "" if "; " in str(error) else "; choose another with --kubeconfig or --context"
        raise CommandError(f"{error}{advice}") from None
    async with way as server:
        yield ClusterClient(server)


@dataclass(frozen=True)
class ClusterClient:
    """A cluster; objects are plain documents, with all that the server says of them."""

    server: ApiServer

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context."""
        return self.server.credentials.proofs.namespace

    async def get(self, kind: type[Object], key: str) -> Document:
        """Read an object."""
        return await self._done(await get(self.server, *_at(kind, key)), Operation("get", kind, key))

    async def create(
        self, kind: type[Object], key: str, document: Document, *, dry_run: bool = False
    ) -> Document:
        """Make an object; a dry run only asks whether the server would."""
        place, key = _at(kind, key)
        outcome = await create(self.server, place, key, document, dry_run=dry_run)
        return await self._done(outcome, Operation("create", kind, key))

    async def change(
        self, kind: type[Object], key: str, change: Document, *, dry_run: bool = False
    ) -> Document:
        """Change an object by a merge patch."""
        place, key = _at(kind, key)
        outcome = await patch(self.server, place, key, change, dry_run=dry_run)
        return await self._done(outcome, Operation("change", kind, key))

    async def delete(
        self,
        kind: type[Object],
        key: str,
        *,
        propagation: Propagation = "Background",
        dry_run: bool = False,
    ) -> None:
        """Delete an object; a dry run only asks whether the server would."""
        outcome = await delete(self.server, *_at(kind, key), propagation=propagation, dry_run=dry_run)
        await self._done(outcome, Operation("delete", kind, key))

    async def exists(self, kind: type[Object], key: str) -> bool:
        """Whether an object is there."""
        outcome = await get(self.server, *_at(kind, key))
        if isinstance(outcome, Gone):
            return False
        await self._done(outcome, Operation("get", kind, key))
        return True

    async def check_queue(self, name: str) -> None:
        """Refuse a filter by a queue that does not exist; one that may not be read passes."""
        outcome = await get(self.server, *_at(Queue, name))
        if isinstance(outcome, Gone) and name not in (DEFAULT, ROOT):  # those exist always
            await self._done(outcome, Operation("get", Queue, name))

    async def check_job(self, namespace: str, name: str) -> None:
        """The same of a job; in all namespaces there may be one."""
        key = f"{namespace}/{name}"
        if namespace and isinstance(outcome := await get(self.server, *_at(Job, key)), Gone):
            await self._done(outcome, Operation("get", Job, key))

    async def all(self, kind: type[Object], labels: str = "", namespace: str = "") -> list[Document]:
        """Read all objects of a kind, or those with the labels or in the namespace."""
        documents: list[Document] = []

        def take(items: list[msgspec.Raw]) -> None:
            documents.extend(cast(Document, plain(item)) for item in items)

        try:
            await read_pages(self.server, resource_path_of(kind).all(namespace), selection(labels), take)
        except (ApiError, UnansweredError) as error:
            raise refusal_of_list(error, kind) from None
        return documents

    async def _done(self, outcome: Outcome, operation: Operation) -> Document:
        if isinstance(outcome, Done):
            return cast(Document, plain(outcome.body))
        namespace = operation.key.rpartition("/")[0]
        names = await self.names(operation.kind, namespace) if isinstance(outcome, Gone) else ()
        raise refusal(outcome, operation, names)

    async def names(self, kind: type[Object], namespace: str = "") -> list[str]:
        """The names there are; none where they cannot be asked for."""
        try:
            documents = await self.all(kind, namespace=namespace)
        except CommandError:
            return []
        named = (document.get("metadata") for document in documents)
        return [str(metadata.get("name", "")) for metadata in named if isinstance(metadata, dict)]

    async def everything(self) -> list[Object]:
        """Read all that the scheduler decides with; one that cannot be read is left out with a warning."""
        from maar.apps.scheduler.scheduler import WATCHED  # noqa: PLC0415  # only few commands wait for it

        try:
            async with asyncio.TaskGroup() as tasks:
                read = [tasks.create_task(self.objects(kind)) for kind in WATCHED]
        except* CommandError as group:
            raise group.exceptions[0] from None
        return [each for task in read for each in task.result()]

    async def objects(
        self, kind: type[ObjectT], namespace: str = "", labels: str = "", fields: str = ""
    ) -> list[ObjectT]:
        """Read the objects of a kind; one that cannot be read is left out with a warning."""

        def bad(error: BadObjectError) -> None:
            typer.echo(f"warning: a {kind.kind_name()} cannot be read and is left out: {error}", err=True)

        try:
            return await objects(self.server, kind, bad, namespace=namespace, labels=labels, fields=fields)
        except (ApiError, UnansweredError) as error:
            raise refusal_of_list(error, kind) from None

    async def watch(
        self,
        kind: type[Object],
        on_events: Callable[[list[Event]], None],
        labels: str,
        namespace: str = "",
    ) -> None:
        """Watch all objects, then every change, until interrupted."""
        report = unless_repeated(lambda trouble: typer.echo(f"warning: {trouble.problem}", err=True))
        read: Any = kind  # a summary of a kind is read as the kind itself
        await Watch(self.server, read, on_events, report, namespace=namespace, labels=labels).run()

    async def log(self, pod: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Read what a pod has printed, line by line, and go on with what it prints where it is followed."""
        try:
            async with self.server.stream(PODS.one(pod, "log"), query, _LONGEST_SILENCE_S) as stream:
                async for lines in stream:
                    for line in lines:
                        yield line
        except (ApiError, UnansweredError) as error:
            raise CommandError(f"pod {pod}: its log cannot be read: {error}") from None


def _warn(warning: str) -> None:
    """Print a warning of the API server, as kubectl does."""
    from rich.text import Text  # noqa: PLC0415  # most commands end without a warning

    from maar.cli.terminal import Terminal  # noqa: PLC0415

    Terminal(stderr=True).print(Text.assemble(("Warning:", "bold yellow"), f" {warning}"), soft_wrap=True)


def _at(kind: type[Object], key: str) -> tuple[ResourcePath, str]:
    place = resource_path_of(kind)
    try:
        place.split(key)
    except ValueError as error:
        raise CommandError(str(error)) from None
    return place, key
