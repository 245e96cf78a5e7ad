"""What Kubernetes' generated models do not say about built-in types: how lists merge, formats, packages.

A field is written `Type.field`. All of it was compared with what a kube-apiserver 1.36 publishes.
"""

from typing import Final

CONTAINERS: Final = ("Container", "EphemeralContainer")

# Lists of objects told apart by keys: by all of them in server-side apply, by the first in a strategic patch.
LIST_KEYS: Final = {
    ("name",): (
        *(f"{one}.env" for one in CONTAINERS),
        "ContainerStatus.allocatedResourcesStatus",
        "PodSpec.containers",
        "PodSpec.ephemeralContainers",
        "PodSpec.imagePullSecrets",
        "PodSpec.initContainers",
        "PodSpec.resourceClaims",
        "PodSpec.schedulingGates",
        "PodSpec.volumes",
        "PodStatus.resourceClaimStatuses",
        "ResourceRequirements.claims",
        "ServiceAccount.secrets",
    ),
    ("containerPort", "protocol"): tuple(f"{one}.ports" for one in CONTAINERS),
    ("devicePath",): tuple(f"{one}.volumeDevices" for one in CONTAINERS),
    ("mountPath",): (*(f"{one}.volumeMounts" for one in CONTAINERS), "ContainerStatus.volumeMounts"),
    ("ip",): ("PodSpec.hostAliases", "PodStatus.podIPs"),
    ("port", "protocol"): ("ServiceSpec.ports",),
    ("resourceID",): ("ResourceStatus.resources",),
    ("rule",): ("JSONSchemaProps.x-kubernetes-validations",),
    ("topologyKey", "whenUnsatisfiable"): ("PodSpec.topologySpreadConstraints",),
    ("type",): (
        "CustomResourceDefinitionStatus.conditions",
        "NamespaceStatus.conditions",
        "NodeStatus.addresses",
        "NodeStatus.conditions",
        "PersistentVolumeClaimStatus.conditions",
        "PodDisruptionBudgetStatus.conditions",
        "PodStatus.conditions",
        "ReplicaSetStatus.conditions",
        "ServiceStatus.conditions",
        "StatefulSetStatus.conditions",
    ),
    ("uid",): ("ObjectMeta.ownerReferences",),
}
SETS: Final = frozenset(
    {
        "ContainerRestartRuleOnExitCodes.values",
        "NodeAllocatableResourceClaimStatus.containers",
        "NodeSpec.podCIDRs",
        "ObjectMeta.finalizers",
        "PodFailurePolicyOnExitCodesRequirement.values",
        "UncountedTerminatedPods.failed",
        "UncountedTerminatedPods.succeeded",
    }
)

# Where a strategic merge patch does not follow the keys above.
PATCH_KEYS: Final = {
    "CustomResourceDefinitionStatus.conditions": "",
    "JobStatus.conditions": "type",
    "NodeSpec.podCIDRs": "*",
    "ObjectMeta.finalizers": "*",
    "PodStatus.hostIPs": "ip",
    "ResourceRequirements.claims": "",
    "ResourceStatus.resources": "",
}
RETAIN_KEYS: Final = frozenset(
    {"PodSpec.resourceClaims", "PodSpec.volumes", "PodStatus.resourceClaimStatuses"}
)
REPLACED: Final = frozenset({"PodDisruptionBudgetSpec.selector"})

ATOMIC_FIELDS: Final = frozenset({"PodSpec.nodeSelector", "ServiceSpec.selector"})
ATOMIC_TYPES: Final = frozenset(
    {
        "ConfigMapKeySelector",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ResourceFieldSelector",
        "ScopeSelector",
        "SecretKeySelector",
        "SecretReference",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
    }
)
GRANULAR_FIELDS: Final = frozenset({"PersistentVolumeSpec.claimRef"})  # of an atomic type, yet not atomic

INT_OR_STRING: Final = frozenset(
    {
        "HTTPGetAction.port",
        "PodDisruptionBudgetSpec.maxUnavailable",
        "PodDisruptionBudgetSpec.minAvailable",
        "RollingUpdateStatefulSetStrategy.maxUnavailable",
        "ServicePort.targetPort",
        "TCPSocketAction.port",
    }
)
QUANTITIES: Final = frozenset({"EmptyDirVolumeSource.sizeLimit", "ResourceFieldSelector.divisor"})
QUANTITY_MAPS: Final = frozenset(
    {
        "ContainerStatus.allocatedResources",
        "NodeAllocatableResourceClaimStatus.resources",
        "NodeStatus.allocatable",
        "NodeStatus.capacity",
        "PersistentVolumeClaimStatus.allocatedResources",
        "PersistentVolumeClaimStatus.capacity",
        "PersistentVolumeSpec.capacity",
        "PodSpec.overhead",
        "PodStatus.allocatedResources",
        "ResourceQuotaSpec.hard",
        "ResourceQuotaStatus.hard",
        "ResourceQuotaStatus.used",
        "ResourceRequirements.limits",
        "ResourceRequirements.requests",
        "VolumeResourceRequirements.limits",
        "VolumeResourceRequirements.requests",
    }
)
MICRO_TIMES: Final = frozenset(
    {"Event.eventTime", "EventSeries.lastObservedTime", "LeaseSpec.acquireTime", "LeaseSpec.renewTime"}
)
BYTES: Final = frozenset({"ConfigMap.binaryData", "Secret.data", "WebhookClientConfig.caBundle"})

# Integers have 32 bits, but for fields of these names and one more.
LONG_INTEGERS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "deletionGracePeriodSeconds",
        "expirationSeconds",
        "fsGroup",
        "generation",
        "gid",
        "gracePeriodSeconds",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minItems",
        "minLength",
        "minProperties",
        "observedGeneration",
        "remainingItemCount",
        "runAsGroup",
        "runAsUser",
        "seconds",
        "sizeBytes",
        "supplementalGroups",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "uid",
    }
)
LONG_INTEGER_FIELDS: Final = frozenset({"NodeSwapStatus.capacity"})

CORE: Final = "io.k8s.api.core.v1"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

# Where a type is at home, by how its name begins, the longest beginning first; the others are in CORE.
PACKAGES: Final = {
    META: (
        "Condition DeleteOptions FieldSelectorRequirement LabelSelector ListMeta ManagedFieldsEntry"
        " ObjectMeta OwnerReference Preconditions ShardInfo Status"
    ),
    "io.k8s.api.apps.v1": (
        "DaemonSet Deployment ReplicaSet RollingUpdateDaemonSet RollingUpdateDeployment"
        " RollingUpdateStatefulSet StatefulSet"
    ),
    "io.k8s.api.authentication.v1": "SelfSubjectReview UserInfo",
    "io.k8s.api.authorization.v1": (
        "FieldSelectorAttributes LabelSelectorAttributes NonResource ResourceAttributes"
        " ResourceRule SelfSubjectAccess SelfSubjectRules SubjectAccess SubjectRules"
    ),
    "io.k8s.api.batch.v1": "Job PodFailurePolicy SuccessPolicy UncountedTerminatedPods",
    "io.k8s.api.coordination.v1": "Lease",
    "io.k8s.api.networking.v1": "IPBlock NetworkPolicy",
    "io.k8s.api.policy.v1": "Eviction PodDisruptionBudget",
    "io.k8s.api.scheduling.v1": "PriorityClass",
    "io.k8s.api.storage.v1": "StorageClass",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": (
        "CustomResource ExternalDocumentation JSONSchemaProps SelectableField ServiceReference ValidationRule"
        " WebhookC"
    ),
}

# Of fields that are part of a list's key: what is meant where they are left out.
KEY_DEFAULTS: Final = {"ContainerPort.protocol": "TCP", "ServicePort.protocol": "TCP"}
