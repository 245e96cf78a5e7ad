"""Rules for pods of our scheduler; others are not checked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from maar.core.admission import work_rules
from maar.core.admission.case import Case
from maar.core.admission.cluster import KnownCluster
from maar.core.admission.plain import at, below, brief, cut, list_at, map_at, text_at
from maar.core.admission.request import CREATE, Problem
from maar.core.admission.rulebook import Rule, Rulebook, about_others
from maar.core.admission.stated_times import stated_times
from maar.core.admission.work_rules import Destination
from maar.core.model.kinds import BadObjectError
from maar.core.model.pod import GROUP_ANNOTATION, QUEUE_ANNOTATION
from maar.core.model.queue import DEFAULT

_ANNOTATIONS: Final = "metadata.annotations"
_BUDGETS: Final = ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable")
_VERSION_LABEL: Final = "pod-template-hash"  # of a pod and its ReplicaSet, which is named after it
_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_PERCENTAGE: Final = re.compile(r"[0-9]{1,9}%")
_WHOLE_CLUSTER: Final = 100


@dataclass(frozen=True, eq=False)
class PodCase:
    """A pod before the rules."""

    case: Case

    @property
    def known(self) -> KnownCluster:
        """The cluster that it goes into."""
        return self.case.known

    @property
    def group(self) -> str:
        """The pod group that it names; empty where Maar will make one."""
        return text_at(self.case.new, "metadata", "annotations", GROUP_ANNOTATION)

    @cached_property
    def destination(self) -> Destination | None:
        """The queue of the group that Maar will make for it; a group that it names has been judged itself."""
        case = self.case
        if case.request.operation != CREATE or self.group or self._has_group_of_owner():
            return None
        named = text_at(case.new, "metadata", "annotations", QUEUE_ANNOTATION)
        queue = named if named not in ("", DEFAULT) else case.known.queue_of(case.namespace) or DEFAULT
        return Destination(
            queue, below(_ANNOTATIONS, QUEUE_ANNOTATION), case.namespace, is_named=queue == named
        )

    def _has_group_of_owner(self) -> bool:
        """Whether an earlier pod of the same controller, or Deployment, got it its group."""
        namespace, owners = self.case.namespace, list_at(self.case.new, "metadata", "ownerReferences")
        version = text_at(self.case.new, "metadata", "labels", _VERSION_LABEL)
        return any(
            self.known.has_group(f"{namespace}/podgroup-{text_at(owner, 'uid')}")
            or self._is_version(owner, version)
            for owner in owners
            if at(owner, "controller") is True
        )

    def _is_version(self, owner: object, version: str) -> bool:
        """Whether the owner is a version of a Deployment that has a group: it is named after both."""
        name, is_versioned = text_at(owner, "name"), bool(version) and text_at(owner, "kind") == "ReplicaSet"
        deployment = f"{self.case.namespace}/{name.removesuffix(f'-{version}')}"
        return is_versioned and self.known.has_group_of_deployment(deployment)


def read_pod(case: Case) -> PodCase:
    """A pod is an object whose annotations are texts."""
    if not isinstance(case.new, dict):
        raise BadObjectError("", "it is no object")
    for path in (("metadata",), ("metadata", "annotations"), ("spec",)):
        if not isinstance(at(case.new, *path) or {}, dict):
            raise BadObjectError(".".join(path), "expected `object`")
    for key, value in map_at(case.new, "metadata", "annotations").items():
        if not isinstance(value, str):
            raise BadObjectError(below(_ANNOTATIONS, key), "expected `str`")
    return PodCase(case)


def is_ours(case: Case) -> bool:
    """Whether a pod is for our scheduler."""
    return text_at(case.new, "spec", "schedulerName") in case.options.scheduler_names


def budget(pod: PodCase) -> Iterator[Problem]:
    """A pod has at most one of Volcano's budget annotations: a positive number, or 1% to 99%."""
    annotations = map_at(pod.case.new, "metadata", "annotations")
    found = [name for name in _BUDGETS if name in annotations]
    if len(found) > 1:
        sentence = f"not allow configure multiple annotations {' and '.join(_BUDGETS)}; remove one of them"
        yield Problem(_ANNOTATIONS, brief(annotations[found[1]]), f"says too much: {sentence}")
    for name in found:
        text = str(annotations[name])
        if not _is_budget(text):
            what = (
                "must be a percentage between 1% and 99% (a valid percentage which between 1% ~ 99%)"
                if text.endswith("%")
                else "must be a positive integer"
            )
            sentence = f"is {brief(text)}, {what}; write for example 2 or 50%"
            yield Problem(below(_ANNOTATIONS, name), brief(text), sentence)


@about_others
def group_missing(pod: PodCase) -> Iterator[Problem]:
    """A pod that names a pod group waits until there is one."""
    case = pod.case
    is_bare = not list_at(case.new, "metadata", "ownerReferences")
    if pod.group and is_bare and not pod.known.has_group(f"{case.namespace}/{pod.group}"):
        sentence = (
            f"is {brief(pod.group)}, and there is no such pod group in {cut(case.namespace)}; create it too"
        )
        yield Problem(below(_ANNOTATIONS, GROUP_ANNOTATION), brief(pod.group), sentence)


def _is_budget(text: str) -> bool:
    if _PERCENTAGE.fullmatch(text):
        return 0 < int(text[:-1]) < _WHOLE_CLUSTER
    return bool(_WHOLE.fullmatch(text)) and int(text) > 0


RULES: Final[Mapping[str, Rule[PodCase]]] = {
    "pod-budget": budget,
    **work_rules.rules_of("pod"),
}
BOOK: Final = Rulebook(
    noun="pod",
    read=read_pod,
    create=RULES,
    warnings={
        "pod-group-missing": group_missing,
        "pod-queue-set-aside": work_rules.set_aside,
        "pod-stated-time": stated_times,
    },
    concerns=is_ours,
)
