"""Pods without a scheduler of their own are placed by the one scheduler that `maar up` runs."""

from typing import Final

from maar.embedded.calls import Admission, Stage, section, text
from maar.embedded.kinds.parts import part

_FILLED_IN: Final = "default-scheduler"  # where a pod names none, as in Kubernetes
_FIELD: Final = "schedulerName"


def choose_scheduler(stage: Stage, admission: Admission, name: str) -> None:
    """Give a pod that names Kubernetes' own scheduler, which does not run here, the one that does.

    A manifest that leaves the name out is the same after an update, so what was chosen stays.
    """
    if stage != "fill in" or admission.resource.qualified != "pods" or admission.subresource:
        return
    if admission.new is None or text(section(admission.new, "spec"), _FIELD) != _FILLED_IN:
        return
    before = name if admission.old is None else text(part(admission.old, "spec"), _FIELD)
    section(admission.new, "spec")[_FIELD] = before
