"""Volumes and claims, as far as they tie a pod to nodes."""

from typing import ClassVar, Final, Literal

from maar.core.model.affinity import NodeSelector
from maar.core.model.metadata import LabelSelector, Object, Record
from maar.core.model.resources import Resources

SELECTED_NODE_ANNOTATION: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class ClaimResources(Record, frozen=True):
    """How much a claim asks for."""

    requests: Resources = Resources()


class ClaimSpec(Record, frozen=True):
    """What the claim asks for, and the volume it got."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None
    resources: ClaimResources = ClaimResources()


class ClaimStatus(Record, frozen=True):
    """Whether the claim is bound."""

    phase: Literal["Pending", "Bound", "Lost", ""] = ""


class PersistentVolumeClaim(Object, frozen=True, tag="PersistentVolumeClaim"):
    """A claim to storage."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "persistentvolumeclaims"
    namespaced: ClassVar[bool] = True

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class VolumeNodeAffinity(Record, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class ClaimReference(Record, frozen=True):
    """The claim that a volume is bound to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeSpec(Record, frozen=True):
    """What the volume offers and to whom it belongs."""

    capacity: Resources = Resources()
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    storage_class_name: str = ""
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None


class VolumeStatus(Record, frozen=True):
    """Whether the volume is free."""

    phase: str = ""


class PersistentVolume(Object, frozen=True, tag="PersistentVolume"):
    """A piece of storage."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "persistentvolumes"
    namespaced: ClassVar[bool] = False

    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class StorageClass(Object, frozen=True, tag="StorageClass"):
    """How claims of a class are bound: at once, or when a pod that mounts them has its node."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    plural: ClassVar[str] = "storageclasses"
    namespaced: ClassVar[bool] = False

    provisioner: str = ""
    volume_binding_mode: Literal["Immediate", "WaitForFirstConsumer"] = "Immediate"
