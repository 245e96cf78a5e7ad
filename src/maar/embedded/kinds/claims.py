"""Volume claims: they wait for a volume, of the default class where they name none."""

from typing import Final

from maar.embedded.calls import Call, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part
from maar.embedded.kinds.quotas import Counted, Ledger
from maar.embedded.kinds.usage import CLAIMS

CLASSES: Final = "storageclasses.storage.k8s.io"
VOLUMES: Final = "persistentvolumes"

_IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"


class Claims(Counted):
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
            (text(metadata(one), "creationTimestamp"), text(metadata(one), "name"))
            for one in cluster.all(CLASSES)
            if part(one, "metadata", "annotations").get(_IS_DEFAULT) == "true"
        ]
        if defaults:
            spec["storageClassName"] = max(defaults)[1]
