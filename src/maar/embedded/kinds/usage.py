"""What an object counts in resource quotas, by the names that quotas have for it."""

from typing import Final

from maar.core.model.metadata import Requirement
from maar.core.policy.selectors import meets
from maar.embedded.calls import text
from maar.embedded.failures import Json
from maar.embedded.kinds.amounts import ONE, Amounts, add, amounts, quantity, raise_to
from maar.embedded.kinds.parts import part, parts, words

CLAIMS: Final = "persistentvolumeclaims"
CLASSES: Final = "storageclasses.storage.k8s.io"
VOLUMES: Final = "persistentvolumes"
# What every container of a pod must specify as soon as a quota limits it.
MUST_BE_SPECIFIED: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
FINISHED: Final = frozenset({"Succeeded", "Failed"})

_BY_CLASS: Final = ".storageclass.storage.k8s.io/"
_PLAIN: Final = frozenset({"configmaps", "resourcequotas", "secrets", "services", CLAIMS})
_STORAGE: Final = "requests.storage"
_OF_PODS: Final = frozenset({"pods", "cpu", "memory", "ephemeral-storage"})
_NODE_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_OF_WHOLE_PODS: Final = ("cpu", "memory", "hugepages-")


def counted_by(name: str) -> str:
    """The resource whose objects a name in a quota counts; nothing for a name that counts none."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in _PLAIN:
        return name
    if name.startswith("services."):
        return "services"
    if name == _STORAGE or _BY_CLASS in name:
        return CLAIMS
    if name in _OF_PODS or name.startswith(("requests.", "limits.", "hugepages-")):
        return "pods"
    return ""


def usage(plural: str, value: Json) -> Amounts:
    """What an object of a resource, named with its group, counts."""
    used: Amounts = {f"count/{plural}": ONE}
    if plural in _PLAIN:
        used[plural] = ONE
    if plural == "pods":
        used |= _pod_usage(value)
    elif plural == CLAIMS:
        used |= _claim_usage(part(value, "spec"))
    elif plural == "services":
        used |= _service_usage(part(value, "spec"))
    return used


def in_scope(quota: Json, value: Json) -> bool:
    """Whether a quota is about an object; one that has scopes counts pods, those in all of its scopes."""
    wanted = [Requirement(key=scope, operator="Exists") for scope in words(quota, "scopes")] + [
        Requirement(
            key=text(expression, "scopeName"),
            operator=text(expression, "operator"),
            values=tuple(words(expression, "values")),
        )
        for expression in parts(part(quota, "scopeSelector"), "matchExpressions")
    ]
    return all(_meets_scope(one, value) for one in wanted)


def unspecified(spec: Json, names: frozenset[str]) -> dict[str, list[str]]:
    """The containers of a pod that do not specify what they must, by the name of what is missing."""
    if part(spec, "resources"):
        return {}
    missing: dict[str, list[str]] = {}
    for container in (*parts(spec, "containers"), *parts(spec, "initContainers")):
        specified = _compute(amounts(_list(container, "requests")), amounts(_list(container, "limits")))
        for name in names - specified.keys():
            missing.setdefault(name, []).append(text(container, "name"))
    return {name: sorted(missing[name]) for name in sorted(missing)}


def _pod_usage(pod: Json) -> Amounts:
    if part(pod, "status").get("phase") in FINISHED:
        return {}
    spec = part(pod, "spec")
    requests, limits, overhead = _total(spec, "requests"), _total(spec, "limits"), part(spec, "overhead")
    add(requests, amounts(overhead))
    add(limits, {name: more for name, more in amounts(overhead).items() if name in limits})
    return {"pods": ONE} | _compute(requests, limits)


def _claim_usage(spec: Json) -> Amounts:
    storage = {CLAIMS: ONE}
    if (asked := _list(spec, "requests").get("storage")) is not None:
        storage[_STORAGE] = quantity(asked)
    if name := text(spec, "storageClassName"):
        storage |= {f"{name}{_BY_CLASS}{what}": amount for what, amount in storage.items()}
    return storage


def _service_usage(spec: Json) -> Amounts:
    service_type, ports = text(spec, "type"), parts(spec, "ports")
    if spec.get("allocateLoadBalancerNodePorts") is False and service_type == "LoadBalancer":
        ports = [port for port in ports if port.get("nodePort")]
    used: Amounts = {}
    if service_type in ("NodePort", "LoadBalancer"):
        used["services.nodeports"] = quantity(len(ports))
    if service_type == "LoadBalancer":
        used["services.loadbalancers"] = ONE
    return used


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    used: Amounts = {}
    for name, amount in requests.items():
        used[f"requests.{name}"] = amount
        if name in _NODE_RESOURCES or name.startswith("hugepages-"):
            used[name] = amount
    used |= {f"limits.{name}": limits[name] for name in _NODE_RESOURCES if name in limits}
    return used


def _total(spec: Json, what: str) -> Amounts:
    """Containers that run together, or the most while they start; pod-level resources take precedence."""
    total: Amounts = {}
    for container in parts(spec, "containers"):
        add(total, amounts(_list(container, what)))
    beside: Amounts = {}
    peak: Amounts = {}
    for container in parts(spec, "initContainers"):
        asked = amounts(_list(container, what))
        if container.get("restartPolicy") == "Always":
            add(total, asked)
            add(beside, asked)
        else:
            add(asked, beside)
            raise_to(peak, asked)
    raise_to(total, peak)
    own = amounts(_list(spec, what))
    return total | {name: own[name] for name in own if name.startswith(_OF_WHOLE_PODS)}


def _list(holder: Json, what: str) -> Json:
    return part(holder, "resources", what)


def _meets_scope(wanted: Requirement, pod: Json) -> bool:
    terminating = part(pod, "spec").get("activeDeadlineSeconds") is not None
    best_effort = part(pod, "status").get("qosClass") == "BestEffort"
    match wanted.key:
        case "Terminating":
            return terminating
        case "NotTerminating":
            return not terminating
        case "BestEffort":
            return best_effort
        case "NotBestEffort":
            return not best_effort
        case "PriorityClass":
            return meets(wanted, text(part(pod, "spec"), "priorityClassName") or None)
    return False
