"""The plugin ssh: the pods of a job log in to one another without a password."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Final

from maar.core.job_plugins.flags import Flags, path, port, text
from maar.core.job_plugins.plugin import Json, OwnedObject, PluginJob, PluginTask, SshKey
from maar.core.job_plugins.pod_changes import add_volume

_OF_ROOT: Final = "/root/.ssh"
_FOLDER: Final = ".ssh"
_FILES: Final = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
_ONLY_ROOT: Final = 0o600
_READABLE: Final = 0o644  # for a user other than root, whose files these are not


class Ssh:
    """A Secret with one pair of keys for all pods, and a configuration that knows their hosts."""

    name = "ssh"
    flags = Flags(
        "ssh",
        (
            path("ssh-key-file-path", _OF_ROOT),
            text("ssh-private-key", "", "a private key"),
            text("ssh-public-key", "", "a public key"),
            port("ssh-port", 22),
        ),
        instead={"no-root": "for a user other than root write --ssh-key-file-path=/home/<user>/.ssh"},
    )

    def problems(self, job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Arguments that cannot be read, and half a pair of keys."""
        read = self.flags.read(arguments)
        yield from read.problems
        yield from job.too_many_hosts()
        if bool(read.text("ssh-private-key")) != bool(read.text("ssh-public-key")):
            yield (
                "ssh needs both --ssh-private-key and --ssh-public-key, or neither and a pair is made; "
                "add the other one"
            )

    def warnings(self, _job: PluginJob, arguments: tuple[str, ...]) -> Iterator[str]:
        """Flags that have no effect."""
        yield from self.flags.read(arguments).remarks

    def objects(
        self, job: PluginJob, arguments: tuple[str, ...], new_key: Callable[[], SshKey]
    ) -> list[OwnedObject]:
        """The Secret; its hosts follow scaling, and its keys stay, which running pods have."""
        read = self.flags.read(arguments)
        given = SshKey(read.text("ssh-private-key"), read.text("ssh-public-key"))
        key = given if all(given) else new_key()
        config = _encoded(_configuration(job, read.number("ssh-port")))
        keys = (key.private, key.public, key.public)
        data = dict(zip(_FILES, (*map(_encoded, keys), config), strict=True))
        secret: Json = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": _secret(job)},
            "type": "Opaque",
            "data": data,
        }
        return [OwnedObject(secret, {"data": {"config": config}})]

    def change_pod(
        self, pod: Json, job: PluginJob, _task: PluginTask, _index: int, arguments: tuple[str, ...]
    ) -> None:
        """Mount the keys where SSH looks for them."""
        where = self.flags.read(arguments).text("ssh-key-file-path")
        source: Json = {
            "secretName": _secret(job),
            "items": [{"key": file, "path": f"{_FOLDER}/{file}"} for file in _FILES],
            "defaultMode": _ONLY_ROOT if where == _OF_ROOT else _READABLE,
        }
        add_volume(pod, {"name": _secret(job), "secret": source}, where, _FOLDER)


def _configuration(job: PluginJob, number: int) -> str:
    """Every pod by its name and by its host: lists of hosts, from which MPI logs in, have the latter."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job.tasks:
        for host in job.hosts_of(task.name):
            name = host.partition(".")[0]
            lines += [f"Host {name} {host}", f"  HostName {host}", f"  Port {number}"]
    return "\n".join([*lines, ""])


def _encoded(value: str) -> str:
    return b64encode(value.encode(errors="replace")).decode()


def _secret(job: PluginJob) -> str:
    return f"{job.name}-ssh"
