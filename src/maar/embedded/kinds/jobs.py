"""Jobs: their pods are known by the job's identity."""

from typing import Final

from maar.embedded.calls import Call, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.kinds.quotas import Counted, Ledger

PLURAL: Final = "jobs.batch"


class Jobs(Counted):
    """A job that does not choose its pods itself gets labels and a selector nobody else has."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, PLURAL, {})

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Tell its pods from those of others."""
        super().before_create(cluster, value, call)
        spec, meta = section(value, "spec"), metadata(value)
        if spec.setdefault("manualSelector", False) is True:
            return
        uid, template = text(meta, "uid"), section(section(spec, "template"), "metadata")
        marks = {"controller-uid": uid, "job-name": text(meta, "name")}
        marks |= {f"batch.kubernetes.io/{name}": mark for name, mark in marks.items()}
        section(meta, "labels").update(marks)
        section(template, "labels").update(marks)
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
