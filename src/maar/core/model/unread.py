"""Fields that Kubernetes and Volcano have and Maar does not read, so that a misspelt field can be named."""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Final, Union, get_args, get_origin

import msgspec

from maar.core.model import (
    affinity,
    batch_job,
    cron_job,
    disruption_budget,
    job,
    job_flow,
    metadata,
    namespace,
    node,
    pod,
    pod_group,
    priority_class,
    queue,
    volume,
)

# Kubernetes 1.36 and Volcano 1.15. What is below a field that Maar does not read is not looked at.
UNREAD: Final[dict[type, str]] = {
    metadata.Metadata: """
        clusterName generateName managedFields selfLink
    """,
    metadata.ManagedFields: "apiVersion fieldsType operation subresource",
    metadata.Condition: "lastHeartbeatTime lastProbeTime observedGeneration",
    pod.PodSpec: """
        automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks
        ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
        imagePullSecrets os readinessGates restartPolicy runtimeClassName schedulingGroup
        securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace
        subdomain terminationGracePeriodSeconds workloadRef
    """,
    pod.Container: """
        args command env envFrom image imagePullPolicy lifecycle livenessProbe readinessProbe
        resizePolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
        terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """,
    pod.ContainerPort: "containerPort name",
    pod.ResourceRequirements: "claims",
    pod.PodStatus: """
        allocatedResources ephemeralContainerStatuses extendedResourceClaimStatus
        hostIP hostIPs message nodeAllocatableResourceClaimStatuses
        observedGeneration podIPs qosClass reason resize resourceClaimStatuses resources
    """,
    pod.ContainerStatus: """
        allocatedResources allocatedResourcesStatus containerID image imageID lastState name resources started
        stopSignal user volumeMounts
    """,
    pod.ContainerState: "running waiting",
    pod.Terminated: "containerID message reason signal startedAt",
    pod.Volume: """
        awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir fc
        flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs
        photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume
    """,
    pod.ClaimSource: "readOnly",
    pod.Named: "resourceClaimName resourceClaimTemplateName source",
    affinity.Toleration: "tolerationSeconds",
    node.NodeSpec: "configSource externalID podCIDR podCIDRs providerID",
    node.NodeStatus: """
        addresses capacity config daemonEndpoints declaredFeatures features images nodeInfo phase
        runtimeHandlers volumesAttached volumesInUse
    """,
    node.Taint: "timeAdded",
    namespace.Namespace: "spec status",
    priority_class.PriorityClass: "description",
    disruption_budget.BudgetSpec: "unhealthyPodEvictionPolicy",
    disruption_budget.BudgetStatus: "conditions disruptedPods observedGeneration",
    volume.ClaimSpec: "dataSource dataSourceRef volumeAttributesClassName",
    volume.ClaimStatus: """
        accessModes allocatedResourceStatuses allocatedResources capacity conditions
        currentVolumeAttributesClassName modifyVolumeStatus resizeStatus
    """,
    volume.ClaimResources: "claims limits",
    volume.ClaimReference: "apiVersion fieldPath kind resourceVersion",
    volume.VolumeSpec: """
        awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker
        gcePersistentDisk glusterfs hostPath iscsi local mountOptions nfs persistentVolumeReclaimPolicy
        photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos volumeAttributesClassName
        vsphereVolume
    """,
    volume.VolumeStatus: "lastPhaseTransitionTime message reason",
    volume.StorageClass: """
        allowVolumeExpansion allowedTopologies mountOptions parameters reclaimPolicy
    """,
    batch_job.BatchJobSpec: """
        activeDeadlineSeconds manualSelector maxFailedIndexes podReplacementPolicy scheduling selector
        successPolicy ttlSecondsAfterFinished
    """,
    batch_job.BatchJobStatus: """
        active completionTime ready startTime terminating uncountedTerminatedPods
    """,
    queue.QueueSpec: "affinity extendClusters type",
    queue.QueueStatus: "reservation",
    pod_group.PodGroupSpec: "subGroupPolicy",
    job.PartitionPolicy: "networkTopology",
    cron_job.TemplateMetadata: "creationTimestamp generateName name namespace",
    cron_job.JobReference: "fieldPath resourceVersion",
}
# Kept as they were written, but people misspell there too.
_AS_WRITTEN: Final[dict[tuple[type, str], type]] = {
    (job.Task, "template"): job.PodTemplate,
    (cron_job.CronJobTemplate, "spec"): job.JobSpec,
    (job_flow.JobTemplate, "spec"): job.JobSpec,
    (job_flow.FlowPatch, "spec"): job.JobSpec,
}
_ENVELOPE: Final = ("apiVersion", "kind")


def unknown_fields(kind: type[metadata.Object], document: object) -> list[str]:
    """Name the fields of a document that neither Maar nor Kubernetes knows, each with what may be meant."""
    if not isinstance(document, dict):
        return []
    return list(_unknown(kind, {key: document[key] for key in document if key not in _ENVELOPE}, ""))


def _unknown(kind: object, value: object, path: str) -> Iterator[str]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if isinstance(value, dict):
            yield from _unknown_in_record(kind, value, path)
    elif get_origin(kind) in (Union, UnionType):
        for choice in get_args(kind):
            yield from _unknown(choice, value, path)
    elif get_origin(kind) is tuple and isinstance(value, list):
        for index, one in enumerate(value):
            yield from _unknown(get_args(kind)[0], one, f"{path}[{index}]")
    elif get_origin(kind) is dict and isinstance(value, dict):
        for key, one in value.items():
            yield from _unknown(get_args(kind)[1], one, f"{path}.{key}")


def _unknown_in_record(kind: type[msgspec.Struct], record: dict[str, object], path: str) -> Iterator[str]:
    read, unread = _fields(kind), _unread(kind)
    for name, value in record.items():
        here = f"{path}.{name}".lstrip(".")
        if name in read:
            yield from _unknown(_AS_WRITTEN.get((kind, name), read[name]), value, here)
        elif name not in unread:
            meant = get_close_matches(str(name), [*read, *unread], n=1)
            yield f"{here} (did you mean {meant[0]}?)" if meant else here


@cache
def _unread(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """What is not read of a kind, nor of those it derives from."""
    return tuple(name for one in kind.__mro__ for name in UNREAD.get(one, "").split())


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, object]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
