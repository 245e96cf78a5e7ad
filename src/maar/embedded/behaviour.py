"""Hooks of a kind in the lifecycle of its objects, all empty here."""

from typing import TYPE_CHECKING

from maar.embedded.calls import Call, Deletion
from maar.embedded.failures import Json

if TYPE_CHECKING:
    from maar.embedded.cluster import Cluster


class Behaviour:
    """The ordinary kind. A step refuses by raising ApiError; `value` may be changed in place."""

    # Who owns which field is noted from the first server-side apply on. Kubernetes notes it from the start,
    # which costs a comparison with every write; here that is done for kinds whose owners something reads.
    tracks_owners: bool = False

    def before_create(self, cluster: "Cluster", value: Json, call: Call) -> None:
        """Fill in what the server decides; the object has its defaults, and its rules are checked after."""

    def before_update(self, cluster: "Cluster", old: Json, value: Json, subresource: str, call: Call) -> None:
        """Fill in or refuse what a change of the object brings with it."""

    def grace(self, value: Json, deletion: Deletion) -> int:
        """Seconds of grace before an object is deleted; 0 where no node has to end it."""
        del value, deletion
        return 0

    def waits(self, value: Json) -> bool:
        """Whether something other than finalizers and grace delays a deletion."""
        del value
        return False

    def before_delete(self, cluster: "Cluster", value: Json, call: Call) -> None:
        """Refuse a deletion, or prepare it."""

    def stored(self, cluster: "Cluster", old: Json | None, value: Json | None) -> None:
        """Account for a write, in its transaction."""


ORDINARY = Behaviour()
