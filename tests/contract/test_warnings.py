"""What a server warns of reaches whoever asked, as kubectl shows it."""

import asyncio
from pathlib import Path

import pytest

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.cluster.client import ClusterClient
from maar.cli.failure import CommandError
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.outcome import Done
from maar.kube.paths import resource_path_of
from maar.kube.write import create, delete
from support.kubeconfigs import changed, with_server
from support.manifests import unique

pytestmark = pytest.mark.usefixtures("crds", "anyio_backend")

UNKNOWN = 'unknown field "spec.colour"'


def queue(name: str) -> dict[str, object]:
    """A queue with something in it that queues do not have."""
    return {"apiVersion": Queue.api_version, "kind": "Queue", "metadata": {"name": name},
            "spec": {"colour": "red"}}  # fmt: skip


@pytest.mark.anyio
async def test_a_warning_reaches_whoever_listens_once(kubeconfig: Path) -> None:
    warnings: list[str] = []
    async with ApiServer(await load(kubeconfig), warn=warnings.append) as api:
        for name in (unique("warned"), unique("warned")):
            assert isinstance(await create(api, resource_path_of(Queue), name, queue(name)), Done)
            await delete(api, resource_path_of(Queue), name)
    assert warnings == [UNKNOWN]


def test_commands_print_warnings_on_standard_error(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(cluster: ClusterClient) -> None:
        for name in (unique("warned"), unique("warned")):
            await cluster.create(Queue, name, queue(name))
            await cluster.delete(Queue, name)

    on_cluster(Access(kubeconfig), work)
    assert capsys.readouterr() == ("", f"Warning: {UNKNOWN}\n")


def test_a_command_says_when_the_address_of_a_server_is_none(kubeconfig: Path, tmp_path: Path) -> None:
    nowhere = changed(kubeconfig, tmp_path / "nowhere", with_server("localhost:6443"))
    with pytest.raises(CommandError, match=r"^'localhost:6443' is not the address of an API server; write"):
        on_cluster(Access(nowhere), lambda cluster: asyncio.sleep(0, cluster))
