"""Fields of a pod that the local node does not read: a warning names them when the pod is created.

What the node reads is the type `LocalPod`, so whatever else stands in a spec has no effect here. Defaults
are not worth a warning: what the server would fill in anyway is left out.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, cast, get_args, get_origin

import msgspec

from maar.embedded.calls import Admission, Stage
from maar.embedded.nodes.local_pod import LocalSpec
from maar.embedded.schema import defaults

_Fields = dict[str, Any]

_PODS: Final = "pods"
_SPEC: Final = "spec"
_RUN: Final = ("containers", "initContainers", "volumes")  # the rest of what is read is the scheduler's
_UNSET: Final[tuple[object, ...]] = (None, "", [], {})
_ALIASES: Final = ("serviceAccount",)  # of fields that are read, and filled in with them
_INFORMATIVE: Final = {"ports": ("containerPort", "name")}  # kubelets ignore them too: they inform people
_DETAILED: Final = "securityContext"
_MOST: Final = 24  # more than people write by hand


def warn_of_ignored(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a pod about fields that have no effect on the local node."""
    is_new_pod = (admission.resource.qualified, admission.operation) == (_PODS, "CREATE")
    if stage != "judge" or not is_new_pod or admission.subresource or admission.new is None:
        return
    spec = cast(_Fields, admission.new["spec"])
    usual: _Fields = {"metadata": {}, "spec": deepcopy(_read_part(spec, LocalSpec))}
    defaults.default(admission.resource, usual)
    if found := list(_ignored(spec, usual["spec"], LocalSpec, _SPEC)):
        has, it = ("has", "it") if len(found) == 1 else ("have", "them")
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        admission.call.warnings.append(
            f"[local-node-ignores] {', '.join(found[:_MOST])}{more} {has} no effect on the local node, which "
            f"runs commands as you and without a container; remove {it}, or use a cluster of Kubernetes"
        )


def _ignored(spec: _Fields, usual: _Fields, kind: type[msgspec.Struct], path: str) -> Iterator[str]:
    known = _fields(kind)
    for name, value in spec.items():
        here, other = f"{path}.{name}", usual.get(name)
        if name in known:
            below = None if path == _SPEC and name not in _RUN else known[name]
            if below is not None and isinstance(value, list):
                for place, (one, same) in enumerate(zip(value, other or [], strict=False)):
                    yield from _ignored(one, same, below, f"{here}[{place}]")
            elif below is not None and isinstance(value, dict):
                yield from _ignored(value, other or {}, below, here)
        elif value is False or value in _UNSET or value == other or _is_exempt(path, name):
            continue
        elif name == _DETAILED:
            yield from (f"{here}.{key}" for key in value)
        else:
            yield here


def _is_exempt(path: str, name: str) -> bool:
    owner = path.rpartition(".")[2].partition("[")[0]
    return name in _ALIASES or name in _INFORMATIVE.get(owner, ())


def _read_part(spec: _Fields, kind: type[msgspec.Struct]) -> _Fields:
    """What is read of a spec."""
    known, part = _fields(kind), _Fields()
    for name, value in spec.items():
        below = known.get(name)
        if below is not None and isinstance(value, list):
            part[name] = [_read_part(one, below) for one in value]
        elif below is not None and isinstance(value, dict):
            part[name] = _read_part(value, below)
        elif name in known:
            part[name] = value
    return part


def _fields(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct] | None]:
    """The fields of a type as they are written, each with the type of what is in it, if that has fields."""
    return {one.encode_name: _struct(one.type) for one in msgspec.structs.fields(kind)}


def _struct(kind: object) -> type[msgspec.Struct] | None:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    if get_origin(kind) is dict:
        return None
    return next((found for one in get_args(kind) if (found := _struct(one)) is not None), None)
