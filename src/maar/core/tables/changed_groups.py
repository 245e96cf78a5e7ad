"""Which pod groups have changed, so that whoever has read them all before reads only those again."""

from dataclasses import dataclass, field
from typing import Final

_SPARE: Final = 1_000  # removed groups that are kept beside as many as there are groups


@dataclass(eq=False)
class ChangedGroups:
    """The keys of groups in the order of their last change; those of removed groups among them."""

    number: int = 0  # of changes so far
    _numbers: dict[str, int] = field(default_factory=dict)  # of the last change of each group
    _known_since: int = 0  # changes before it may have been forgotten

    def note(self, key: str, groups: int) -> None:
        """Note that a group has come, has changed or is gone, of so many groups."""
        self.number += 1
        self._numbers.pop(key, None)
        self._numbers[key] = self.number
        if len(self._numbers) > 2 * groups + _SPARE:
            for oldest in list(self._numbers)[: len(self._numbers) // 2]:
                self._known_since = self._numbers.pop(oldest)

    def since(self, number: int) -> list[str] | None:
        """The groups that have changed since so many changes, in order; None where that is not known."""
        if number < self._known_since:
            return None
        keys = list[str]()
        for key, changed in reversed(self._numbers.items()):
            if changed <= number:
                break
            keys.append(key)
        keys.reverse()
        return keys
