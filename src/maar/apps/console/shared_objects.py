"""Objects that several viewers may read, kept once: a version of an object is the same for all of them."""

from dataclasses import dataclass

from maar.core.model.events import AnyObject
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.views.console.pod_tallies import without_conditions


@dataclass(slots=True)
class _Shared:
    one: Object
    uses: int = 0


class SharedObjects:
    """Objects by uid and resource version, as long as a viewer has them.

    Each viewer has read them with its own token before: what is shared is memory, not rights.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], _Shared] = {}

    def take(self, one: AnyObject) -> AnyObject:
        """Have an object; gives the one that others have, where they have the same."""
        key = (one.metadata.uid, one.metadata.resource_version)
        shared = self._kept.get(key)
        if shared is None or type(shared.one) is not type(one):
            kept = without_conditions(one) if isinstance(one, Pod) else one
            shared = self._kept[key] = _Shared(kept)
        shared.uses += 1
        return shared.one  # type: ignore[return-value]  # of the same type

    def leave(self, one: Object) -> None:
        """Have it no longer."""
        key = (one.metadata.uid, one.metadata.resource_version)
        shared = self._kept.get(key)
        if shared is not None and shared.one is one:
            shared.uses -= 1
            if not shared.uses:
                del self._kept[key]

    def __len__(self) -> int:
        return len(self._kept)
