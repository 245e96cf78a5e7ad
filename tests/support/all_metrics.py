"""All metrics that there are: every program's, after everything has happened once."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from maar.apps.metrics.controllers import ControllerMetrics
from maar.apps.metrics.registry import new_registry
from maar.apps.metrics.scheduler import SchedulerMetrics
from maar.apps.metrics.write_failures import WriteFailureCollector
from maar.apps.webhooks.metrics import WebhookMetrics
from maar.core.admission.request import Request, Verdict
from maar.core.model.events import Upserted
from maar.core.model.job import Job, JobState, JobStatus
from maar.core.model.metadata import Metadata
from maar.core.model.plan import NamespaceStanding, PastUseStanding, Plan, QueueStanding, Share
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.resources import Resources
from maar.core.model.writes import Evict, SetStatus
from maar.core.tables.tables import Tables
from maar.kube.outcome import Done, Unanswered
from maar.kube.watch import BadObject, Interruption
from maar.kube.write_failures import WriteFailures


def standing(amounts: Mapping[str, Mapping[str, int]], share: Share = 0.5) -> QueueStanding:
    """How a queue stands with these amounts, by name."""

    def of(name: str) -> Resources:
        return Resources(amounts.get(name))

    return QueueStanding(
        deserved=of("deserved"),
        real_capability=of("real_capability"),
        allocated=of("allocated"),
        used=of("used"),
        preempting=of("preempting"),
        request=of("request"),
        guarantee=of("guarantee"),
        share=share,
        state="Open",
        parent="root",
        weight=7,
        namespaces={"team": NamespaceStanding(weight=3, used=Resources({"cpu": 600}), share=0.125)},
        past_use=PastUseStanding(factor=0.5, used=0.75, entitled=0.5),
        history={},
    )


AMOUNTS: Final = ("deserved", "real_capability", "allocated", "used", "preempting", "request", "guarantee")


def all_families() -> Iterator[tuple[str, str, set[str]]]:
    """The name, the type and the labels of everything there is, after everything has happened once."""
    first, second, third = new_registry(), CollectorRegistry(), CollectorRegistry()
    tables = Tables()
    pod = Pod(metadata=Metadata(name="p", namespace="n", annotations={GROUP_ANNOTATION: "g"}))
    group = PodGroup(metadata=Metadata(name="g", namespace="n"), spec=PodGroupSpec(queue="a"))
    tables.feed([Upserted(object=pod), Upserted(object=group)])
    scheduler = SchedulerMetrics(first, tables)
    scheduler.follow(lambda: {"Pod": 1.0})
    amounts = {"cpu": 1, "memory": 1, "pods": 1}
    queues = {"a": standing(dict.fromkeys(AMOUNTS, amounts))}
    scheduler.decided(Plan(queues=queues, evictions=(Evict(pod="n/p", action="cleanup"),)), 0.1)
    scheduler.troubled(Interruption(kind="Pod", problem=""))
    scheduler.troubled(BadObject(kind="Pod", key="", problem=""))
    ended = (JobState(phase="Completed"), JobState(phase="Failed"))
    jobs = {f"n/{one.phase}": Job(status=JobStatus(state=one)) for one in ended}
    controllers = ControllerMetrics(second, {"a": Queue(metadata=QueueMetadata(name="a"))}, jobs)
    controllers.follow(lambda: {"Pod": 1.0})
    controllers.troubled(Interruption(kind="Pod", problem=""))
    controllers.troubled(BadObject(kind="Pod", key="", problem=""))
    controllers.answered(SetStatus(kind="Queue", key="a", status={}), Done(b""))
    webhooks = WebhookMetrics(third)
    webhooks.reviewed("validate", Request(operation="CREATE", resource="queues"), Verdict(), 0.1)
    webhooks.turned_away(HTTPStatus.BAD_REQUEST)
    webhooks.serves_until(datetime.now(UTC))
    failures = WriteFailures()
    failures.answered("Bind", "Pod", "a/p", Unanswered("it is away"))
    second.register(WriteFailureCollector(failures))
    for registry in (first, second, third):
        for family in text_string_to_metric_families(generate_latest(registry).decode()):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            assert family.samples, f"{name} is not shown to have any series"
            yield name, family.type, set().union(*(one.labels for one in family.samples)) - {"le"}
