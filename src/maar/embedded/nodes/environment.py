"""The environment of a container: what its pod says, looked up where it says, and nothing of the server."""

import base64
import os
import re
from collections.abc import Mapping
from typing import Final

from maar.embedded.cluster import Cluster
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.local_pod import LocalContainer, LocalPod, Source, Variables
from maar.embedded.nodes.pod_addresses import LOOPBACK, pod_address
from maar.embedded.nodes.substitution import Substitution

_PASSED_ON: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8"}
_REFERENCE: Final = re.compile(r"\$(\$|\(([^)]*)\))")
_MAPPED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class MissingError(Exception):
    """Something that a container needs is not there, or not yet."""


def environment(
    cluster: Cluster,
    pod: LocalPod,
    container: LocalContainer,
    folders: Mapping[str, str],
    here: Substitution,
) -> dict[str, str]:
    """All variables of a container; `folders` are those for its volumes, `here` is what values mean here."""
    found = {name: os.environ.get(name, otherwise) for name, otherwise in _PASSED_ON.items()}
    found["HOSTNAME"] = pod.spec.hostname or pod.metadata.name
    found |= {volume_variable(name): path for name, path in folders.items()}
    for source in container.env_from:
        found |= {name: here(value) for name, value in _all_of(cluster, pod, source).items()}
    for variable in container.env:
        if variable.value_from is None:
            found[variable.name] = expanded(here(variable.value), found)
        elif (value := _value_from(cluster, pod, variable.value_from)) is not None:
            found[variable.name] = here(value)
    return found


def volume_variable(name: str) -> str:
    """The variable that holds the folder of a volume."""
    return f"MAAR_VOLUME_{name.upper().replace('-', '_')}"


def expanded(words: str, values: Mapping[str, str]) -> str:
    """Put values in place of $(NAME); $$ stands for a dollar, and what is unknown stays as it is."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] == "$" else values.get(match[2], match[0])

    return _REFERENCE.sub(value, words)


def keys_of(cluster: Cluster, kind: str, namespace: str, name: str, *, optional: bool) -> dict[str, bytes]:
    """All keys of a ConfigMap or Secret with their values."""
    plural = "secrets" if kind == "secret" else "configmaps"
    found = cluster.read(plural, namespace, name)
    if found is None:
        if optional:
            return {}
        raise MissingError(f'{kind} "{name}" not found')
    coded, plain = ("data", "") if kind == "secret" else ("binaryData", "data")
    keys = {key: base64.b64decode(str(value)) for key, value in part(found, coded).items()}
    if plain:
        keys |= {key: str(value).encode() for key, value in part(found, plain).items()}
    return keys


def _all_of(cluster: Cluster, pod: LocalPod, source: Variables) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, whole in (("configmap", source.config_map_ref), ("secret", source.secret_ref)):
        if whole is not None:
            keys = keys_of(cluster, kind, pod.metadata.namespace, whole.name, optional=whole.optional)
            found |= {f"{source.prefix}{key}": _text(value) for key, value in keys.items()}
    return found


def _value_from(cluster: Cluster, pod: LocalPod, source: Source) -> str | None:
    """The value that a variable gets from elsewhere; None where it may be missing and is."""
    for kind, one in (("configmap", source.config_map_key_ref), ("secret", source.secret_key_ref)):
        if one is not None:
            keys = keys_of(cluster, kind, pod.metadata.namespace, one.name, optional=one.optional)
            if one.key not in keys and not one.optional:
                shown = "ConfigMap" if kind == "configmap" else "Secret"
                raise MissingError(
                    f"couldn't find key {one.key} in {shown} {pod.metadata.namespace}/{one.name}"
                )
            return _text(keys[one.key]) if one.key in keys else None
    if source.field_ref is not None:
        return _field(pod, source.field_ref.field_path)
    raise MissingError("the local node takes values from configMapKeyRef, secretKeyRef and fieldRef only")


def _field(pod: LocalPod, path: str) -> str:
    if match := _MAPPED.fullmatch(path):
        of = pod.metadata.labels if match[1] == "labels" else pod.metadata.annotations
        return of.get(match[2], "")
    fields: Mapping[str, str] = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": LOOPBACK,
        "status.podIP": pod_address(pod),
        "status.podIPs": pod_address(pod),
    }
    if path not in fields:
        raise MissingError(f"fieldRef: the local node does not know {path}; it knows {', '.join(fields)}")
    return fields[path]


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")
