"""Builds the embedded cluster: the kinds it serves, what is special about some, and its first objects."""

from collections.abc import Iterable, Mapping
from typing import Final

from maar.embedded.behaviour import ORDINARY, Behaviour
from maar.embedded.calls import SYSTEM, Admit, Call, metadata, section, text
from maar.embedded.cluster import Cluster, Served
from maar.embedded.failures import ApiError, Json, forbidden
from maar.embedded.kinds import budgets, namespaces, priorities, quotas
from maar.embedded.kinds.namespaces import Namespaces
from maar.embedded.kinds.parts import part
from maar.embedded.kinds.pods import Pods
from maar.embedded.kinds.priorities import PriorityClasses
from maar.embedded.kinds.quotas import Counted, Ledger, ResourceQuotas
from maar.embedded.kinds.usage import CLAIMS, CLASSES, VOLUMES
from maar.embedded.resources import BUILT_IN, Resource
from maar.embedded.schema.builtin import builtin
from maar.embedded.schema.custom import packaged
from maar.embedded.store import Store

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


class _Definitions(Behaviour):
    """Definitions that only the server itself writes."""

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Serve what comes with Maar, and nothing else."""
        if call.caller is not SYSTEM:
            raise _refusal(value)
        names = section(section(value, "spec"), "names")
        value["status"] = {
            "acceptedNames": names,
            "storedVersions": [text(stored, "name") for stored in _versions(value) if stored.get("storage")],
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": cluster.now(),
                }
                for kind, reason, message in (
                    ("NamesAccepted", "NoConflicts", "no conflicts found"),
                    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
                )
            ],
        }

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Keep the definition as Maar has it; labels and annotations may change."""
        del cluster, subresource
        if call.caller is not SYSTEM and (value["spec"], value["status"]) != (old["spec"], old["status"]):
            raise _refusal(value)

    def before_delete(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Keep what is served."""
        del cluster, call
        raise _refusal(value)


def _versions(value: Json) -> list[Json]:
    found = section(value, "spec").get("versions")
    return [version for version in found if isinstance(version, dict)] if isinstance(found, list) else []


def _refusal(value: Json) -> ApiError:
    return forbidden(
        _DEFINITIONS,
        text(metadata(value), "name"),
        "the embedded server serves the definitions that come with Maar, as they are; for others use a"
        " cluster of Kubernetes",
    )


_JOBS: Final = "jobs.batch"
_IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_FIRST_STATUS: Final[Mapping[str, Json]] = {
    "replicasets.apps": {"replicas": 0},
    "statefulsets.apps": {"replicas": 0, "availableReplicas": 0},
    budgets.PLURAL: {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    },
    VOLUMES: {"phase": "Pending"},
    "services": {"loadBalancer": {}},
}
# The queue controller reads who wrote the state of a queue, admission who set fields of a job.
_WITH_OWNERS: Final = ("queues.scheduling.volcano.sh", "jobs.batch.volcano.sh")
_UNCOUNTED: Final = frozenset({"events"})  # quotas do not count them: every client writes them


class _Claims(Counted):
    """A claim begins pending; a controller binds it to a volume."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, CLAIMS, {"phase": "Pending"})

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Fill in the default class; of several, that of the newest."""
        super().before_create(cluster, value, call)
        spec = section(value, "spec")
        if "storageClassName" in spec:
            return
        defaults = [
            (text(metadata(stored), "creationTimestamp"), text(metadata(stored), "name"))
            for stored in cluster.all(CLASSES)
            if part(stored, "metadata", "annotations").get(_IS_DEFAULT) == "true"
        ]
        if defaults:
            spec["storageClassName"] = max(defaults)[1]


class _Jobs(Counted):
    """A job that does not choose its pods itself gets labels and a selector of its own."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, _JOBS, {})

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Tell its pods from those of others."""
        super().before_create(cluster, value, call)
        spec, meta = section(value, "spec"), metadata(value)
        if spec.setdefault("manualSelector", False) is True:
            return
        uid, template = text(meta, "uid"), section(section(spec, "template"), "metadata")
        marks = {"controller-uid": uid, "job-name": text(meta, "name")}
        marks |= {f"batch.kubernetes.io/{name}": mark for name, mark in marks.items()}
        section(meta, "labels").update(marks)
        section(template, "labels").update(marks)
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def behaviours(resources: Iterable[Resource]) -> dict[str, Behaviour]:
    """The behaviour of each resource by its name with the group; made anew for every cluster."""
    ledger, classes = Ledger(), PriorityClasses()
    special: dict[str, Behaviour] = {
        "namespaces": Namespaces(),
        "pods": Pods(ledger, classes),
        CLAIMS: _Claims(ledger),
        quotas.PLURAL: ResourceQuotas(ledger),
        _JOBS: _Jobs(ledger),
        priorities.PLURAL: classes,
        "queues.scheduling.volcano.sh": Behaviour(),
    }
    for resource in resources:
        name = resource.qualified
        if name not in special and name not in _UNCOUNTED and (resource.namespaced or name in _FIRST_STATUS):
            special[name] = Counted(ledger, name, _FIRST_STATUS.get(name))
    for name in special.keys() & set(_WITH_OWNERS):
        special[name].tracks_owners = True
    return special


def prepare(cluster: Cluster) -> None:
    """Make what every cluster has and this one lacks: its first namespaces and the system's priorities."""
    for name in namespaces.FROM_THE_START:
        if cluster.read("namespaces", "", name) is None:
            cluster.create("namespaces", "", {"metadata": {"name": name}})
    for name, (value, description) in priorities.SYSTEM_CLASSES.items():
        if cluster.read(priorities.PLURAL, "", name) is None:
            made: Json = {"metadata": {"name": name}, "value": value, "description": description}
            cluster.create(priorities.PLURAL, "", made)


def assemble(store: Store, *, admit: Admit | None = None) -> Cluster:
    """A cluster over a store, with the built-in kinds and those of Maar's CRDs."""
    kinds = [(resource, builtin(resource.api_version, resource.kind)) for resource in BUILT_IN]
    kinds += [(kind.resource, kind.schema) for kind in packaged()]
    special = {**behaviours(resource for resource, _ in kinds), _DEFINITIONS: _Definitions()}
    served = [
        Served(resource, schema, special.get(resource.qualified, ORDINARY)) for resource, schema in kinds
    ]
    cluster = Cluster(store, served, admit=admit)
    prepare(cluster)
    for kind in packaged():
        _publish(cluster, kind.definition)
    return cluster


def _publish(cluster: Cluster, definition: Json) -> None:
    """Let clients see a definition that is served, as it is in this version of Maar."""
    name = text(metadata(definition), "name")
    if cluster.read(_DEFINITIONS, "", name) is None:
        cluster.create(_DEFINITIONS, "", definition)
    else:
        cluster.change(_DEFINITIONS, "", name, lambda value: {**value, "spec": definition["spec"]})
