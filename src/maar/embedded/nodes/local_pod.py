"""A pod as the local node reads it: commands, environment and volumes."""

from maar.core.model.kinds import from_json
from maar.core.model.metadata import Record
from maar.core.model.pod import Volume
from maar.embedded.nodes.pod import BoundPod, BoundSpec, NamedContainer


class KeySelector(Record, frozen=True):
    """A key of a ConfigMap or Secret."""

    name: str = ""
    key: str = ""
    optional: bool = False


class FieldSelector(Record, frozen=True):
    """A field of the pod."""

    field_path: str = ""


class Source(Record, frozen=True):
    """Where the value of a variable comes from."""

    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None
    field_ref: FieldSelector | None = None
    resource_field_ref: dict[str, object] | None = None
    file_key_ref: dict[str, object] | None = None


class Variable(Record, frozen=True):
    """A variable of the environment."""

    name: str
    value: str = ""
    value_from: Source | None = None


class ObjectReference(Record, frozen=True):
    """A ConfigMap or Secret with all its keys."""

    name: str = ""
    optional: bool = False


class Variables(Record, frozen=True):
    """Variables from all keys of an object."""

    prefix: str = ""
    config_map_ref: ObjectReference | None = None
    secret_ref: ObjectReference | None = None


class Mount(Record, frozen=True):
    """Where a container wants a volume."""

    name: str
    mount_path: str = ""
    sub_path: str = ""


class LocalContainer(NamedContainer, frozen=True):
    """A container with what it runs."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[Variable, ...] = ()
    env_from: tuple[Variables, ...] = ()
    volume_mounts: tuple[Mount, ...] = ()


class KeyPath(Record, frozen=True):
    """The file for one key of a volume."""

    key: str
    path: str


class ConfigMapVolume(Record, frozen=True):
    """Files from a ConfigMap."""

    name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False


class SecretVolume(Record, frozen=True):
    """Files from a Secret."""

    secret_name: str = ""
    items: tuple[KeyPath, ...] = ()
    optional: bool = False


class HostPath(Record, frozen=True):
    """A path of this machine."""

    path: str
    type: str = ""


class EmptyDir(Record, frozen=True):
    """A folder that begins empty; how large it may grow and what it is kept in is not looked at."""


class LocalVolume(Volume, frozen=True):
    """A volume of a pod, of a kind that a folder can stand for, or of another."""

    empty_dir: EmptyDir | None = None
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    host_path: HostPath | None = None


class LocalSpec(BoundSpec, frozen=True):
    """What the pod asks for, with what it runs."""

    containers: tuple[LocalContainer, ...] = ()
    init_containers: tuple[LocalContainer, ...] = ()
    volumes: tuple[LocalVolume, ...] = ()
    service_account_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    termination_grace_period_seconds: int = 30


class LocalPod(BoundPod, frozen=True, tag="Pod"):
    """A pod as the local node reads it."""

    spec: LocalSpec = LocalSpec()


def read_local_pod(body: bytes) -> LocalPod:
    """Read a pod from its JSON."""
    return from_json(LocalPod, body)
