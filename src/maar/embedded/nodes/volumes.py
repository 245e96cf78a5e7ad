"""Volumes as folders of this machine: mounting needs privileges, so containers get the paths in variables."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from maar.embedded.cluster import Cluster
from maar.embedded.nodes.environment import MissingError, keys_of, volume_variable
from maar.embedded.nodes.local_pod import KeyPath, LocalContainer, LocalPod, LocalVolume
from maar.embedded.nodes.substitution import Substitution, host_substitution


def unsupported(pod: LocalPod) -> str:
    """Why a pod's volumes cannot be had here; empty where they can."""
    for volume in pod.spec.volumes:
        kinds = (volume.empty_dir, volume.config_map, volume.secret, volume.host_path)
        if all(kind is None for kind in kinds):
            return (
                f'volume "{volume.name}" is of a kind that the local node does not have:'
                " use emptyDir, configMap, secret or hostPath"
            )
    return ""


def prepare(cluster: Cluster, pod: LocalPod, folder: Path) -> dict[str, Path]:
    """The path of every volume of a pod, filled; those made before stay as they are."""
    return {volume.name: _path(cluster, pod, volume, folder / volume.name) for volume in pod.spec.volumes}


def offered(container: LocalContainer, paths: Mapping[str, Path]) -> dict[str, str]:
    """The folder of each volume that a container wants."""
    wanted = [mount for mount in container.volume_mounts if mount.name in paths]
    return {mount.name: str(paths[mount.name] / mount.sub_path) for mount in wanted}


def explained(container: LocalContainer) -> str:
    """Where a container finds what it wanted mounted; empty where that was nothing."""
    paths = [f"{mount.mount_path} is in ${volume_variable(mount.name)}" for mount in container.volume_mounts]
    if not paths:
        return ""
    return f'nothing can be mounted for container "{container.name}" on this machine: {", ".join(paths)}'


def _path(cluster: Cluster, pod: LocalPod, volume: LocalVolume, folder: Path) -> Path:
    if volume.host_path is not None:
        return Path(volume.host_path.path)
    if folder.exists():
        return folder
    files: Mapping[str, bytes] = {}
    namespace, secret, plain = pod.metadata.namespace, volume.secret, volume.config_map
    if secret is not None:
        keys = keys_of(cluster, "secret", namespace, secret.secret_name, optional=secret.optional)
        files = _files(keys, secret.items, optional=secret.optional)
    elif plain is not None:
        keys = keys_of(cluster, "configmap", namespace, plain.name, optional=plain.optional)
        here = host_substitution(pod)
        keys = {name: _with_addresses(data, here) for name, data in keys.items()}
        files = _files(keys, plain.items, optional=plain.optional)
    unfinished = folder.with_name(f"{folder.name}.unfinished")  # no name of a volume has a dot
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700, parents=True)
    for name, data in files.items():
        file = unfinished / name
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o600)
    return unfinished.rename(folder)


def _with_addresses(data: bytes, here: Substitution) -> bytes:
    try:
        return here(data.decode()).encode()
    except UnicodeDecodeError:
        return data


def _files(keys: Mapping[str, bytes], items: Iterable[KeyPath], *, optional: bool) -> dict[str, bytes]:
    """Which files a volume has: all keys, or some of them under names of their own."""
    chosen = list(items)
    if not chosen:
        return dict(keys)
    for item in chosen:
        path = PurePosixPath(item.path)
        if path.is_absolute() or ".." in path.parts:
            raise MissingError(f"the path {item.path} leaves its volume: write one inside it")
        if item.key not in keys and not optional:
            raise MissingError(f"there is no key {item.key}")
    return {item.path: keys[item.key] for item in chosen if item.key in keys}
