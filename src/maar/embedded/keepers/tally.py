"""The pods of one disruption budget, counted as they come, change and go."""

from collections import Counter
from typing import Final, NamedTuple

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.policy.selectors import match_selector
from maar.embedded.keepers.keeper import Owner
from maar.embedded.kinds.usage import FINISHED


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[_Condition, ...] | None = None


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[Owner, ...] | None = None


class Pod(msgspec.Struct, frozen=True, gc=False):
    """What of a pod bears on budgets."""

    metadata: _Meta = _Meta()
    status: _Status = _Status()


_POD: Final = msgspec.json.Decoder(Pod)


class Counted(NamedTuple):
    """A pod as budgets count it."""

    is_ready: bool
    is_going: bool
    is_finished: bool
    controller: Owner | None

    @property
    def is_healthy(self) -> bool:
        """Whether it serves, and will go on to."""
        return self.is_ready and not self.is_going


class Tally:
    """Sums that a change of one pod changes by one; nothing is added up anew."""

    def __init__(self, selector: LabelSelector | None) -> None:
        self.selector = selector
        self.pods: dict[str, Counted] = {}
        self.healthy = 0
        self.of_controller: Counter[Owner | None] = Counter()
        self.unfinished: Counter[Owner | None] = Counter()

    def take(self, name: str, pod: Pod | None) -> None:
        """Take note of how a pod is now; None for one that has gone."""
        if (before := self.pods.pop(name, None)) is not None:
            self._count(before, -1)
        if pod is not None and match_selector(self.selector, pod.metadata.labels or {}):
            now = self.pods[name] = _counted(pod)
            self._count(now, 1)

    def _count(self, pod: Counted, step: int) -> None:
        self.healthy += step * pod.is_healthy
        self.unfinished[pod.controller] += step * (not pod.is_finished)
        self.of_controller[pod.controller] += step
        if not self.of_controller[pod.controller]:
            del self.of_controller[pod.controller]
            del self.unfinished[pod.controller]


def pod_of(body: bytes) -> Pod:
    """A pod as it is stored."""
    return _POD.decode(body)


def _counted(pod: Pod) -> Counted:
    owners = pod.metadata.owner_references or ()
    return Counted(
        any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ()),
        pod.metadata.deletion_timestamp is not None,
        pod.status.phase in FINISHED,
        next((owner for owner in owners if owner.controller), None),
    )
