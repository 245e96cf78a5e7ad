"""What was written to claims and volumes and is not reported yet: a selected node, or a volume."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.volume import (
    SELECTED_NODE_ANNOTATION,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from maar.core.model.writes import Selection, SelectNode
from maar.core.tables.tables import Tables

Storage = PersistentVolumeClaim | PersistentVolume


@dataclass(eq=False)
class AssumedVolumes:
    """Selections under way, by what is written to; the tables see that as if they had been carried out."""

    tables: Tables
    under_way: dict[str, Selection] = field(default_factory=dict)
    _reported: dict[str, Storage] = field(default_factory=dict)

    def feed(self, events: Iterable[Event]) -> None:
        """Drop assumptions that the cluster has reported since; the tables have its reports already."""
        for event in events:
            match event:
                case Upserted(object=PersistentVolumeClaim(key=key)):
                    self._drop(f"claim {key}")
                case Upserted(object=PersistentVolume(key=key)):
                    self._drop(f"volume {key}")
                case Deleted(kind="PersistentVolumeClaim", key=key):
                    self._drop(f"claim {key}")
                case Deleted(kind="PersistentVolume", key=key):
                    self._drop(f"volume {key}")
                case _:
                    pass

    def assume(self, write: Selection) -> None:
        """Assume that a claim has its node, or a volume its claim."""
        subject, reported = write.subject, self._known(write)
        if reported is not None:
            self._reported.setdefault(subject, reported)
            self.under_way[subject] = write
            self.tables.put(_with(reported, write))

    def forget(self, write: Selection) -> None:
        """Take back what was assumed of a write that has failed, unless another has taken its place."""
        if self.under_way.get(write.subject) is write:
            self.tables.put(self._reported[write.subject])
            self._drop(write.subject)

    def _known(self, write: Selection) -> Storage | None:
        if isinstance(write, SelectNode):
            return self.tables.claims.get(write.claim)
        return self.tables.volumes.get(write.volume)

    def _drop(self, subject: str) -> None:
        self.under_way.pop(subject, None)
        self._reported.pop(subject, None)


def _with(reported: Storage, write: Selection) -> Storage:
    """A claim or a volume as if a write had been carried out."""
    if isinstance(reported, PersistentVolumeClaim):
        notes = {**reported.metadata.annotations, SELECTED_NODE_ANNOTATION: write.node}
        metadata = msgspec.structs.replace(reported.metadata, annotations=notes)
        return msgspec.structs.replace(reported, metadata=metadata)
    namespace, _, name = write.claim.partition("/")
    uid = "" if isinstance(write, SelectNode) else write.uid
    reference = ClaimReference(namespace=namespace, name=name, uid=uid)
    return msgspec.structs.replace(reported, spec=msgspec.structs.replace(reported.spec, claim_ref=reference))
