"""Metrics of the controllers and of the webhooks."""

import json
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import product

import pytest
from prometheus_client import CollectorRegistry

from maar.apps.metrics.controllers import ControllerMetrics
from maar.apps.metrics.registry import new_registry
from maar.apps.webhooks.metrics import WebhookMetrics
from maar.apps.webhooks.reviewer import AdmissionReviewer
from maar.apps.webhooks.reviews import Verb
from maar.apps.webhooks.server import WebhookServer
from maar.core.admission.request import Finding, Options, Request, Verdict
from maar.core.model.job import Job, JobState, JobStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueStatus
from maar.core.model.writes import Create, SetStatus
from maar.kube.outcome import Conflict, Done
from maar.kube.watch import Interruption
from maar.serving.http import Message
from support.scraped import samples, value


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def registry() -> CollectorRegistry:
    return new_registry()


def test_controllers_show_what_is_in_the_queues_and_what_they_write(registry: CollectorRegistry) -> None:
    status = QueueStatus(pending=2, inqueue=1, completed=5)
    queues = {"a": Queue(metadata=QueueMetadata(name="a"), status=status)}
    jobs = {"n/j": Job(status=JobStatus(state=JobState(phase="Failed")))}
    metrics = ControllerMetrics(registry, queues, jobs)
    metrics.learned(3, 0.1)
    metrics.reconciled(0.02)
    metrics.answered(SetStatus(kind="Queue", key="a", status={}), Done(b""))
    metrics.answered(Create(kind="PodGroup", key="n/p", document={}), Conflict("it is there"))
    metrics.troubled(Interruption(kind="Pod", problem="gone"))
    metrics.follow(lambda: {"Pod": 1.0})
    counts = {"pending": 2, "inqueue": 1, "running": 0, "unknown": 0, "completed": 5}
    for phase, count in counts.items():
        assert value(registry, f"volcano_queue_pod_group_{phase}_count", queue_name="a") == count
    assert value(registry, "maar_controller_round_seconds_count") == 1
    written = "maar_controller_writes_total"
    assert value(registry, written, write="SetStatus", kind="Queue", outcome="Done") == 1
    assert value(registry, written, write="Create", kind="PodGroup", outcome="Conflict") == 1
    assert value(registry, "maar_watch_lag_seconds", kind="Pod") == 1
    assert value(registry, "volcano_job_failed_phase_count", job_name="n/j", queue_name="default") == 1
    assert "volcano_job_completed_phase_count" not in samples(registry)
    del queues["a"]
    assert "volcano_queue_pod_group_pending_count" not in samples(registry)


def test_reviews_are_counted_by_what_they_were_about_and_how_they_ended(registry: CollectorRegistry) -> None:
    metrics = WebhookMetrics(registry)
    finding = Finding("a-rule", "spec", "1", "is wrong")
    verdicts = {
        "allowed": Verdict(),
        "changed": Verdict(patch=({"op": "add"},)),
        "warned": Verdict(warnings=(finding,), patch=({"op": "add"},)),
        "refused": Verdict(refusals=(finding,), warnings=(finding,)),
    }
    for (word, verdict), operation in product(verdicts.items(), ("CREATE", "made up")):
        metrics.reviewed("validate", Request(operation=operation, resource="queues"), verdict, 0.002)
        where = {"resource": "queues", "webhook": "validate", "verdict": word}
        shown = operation if operation == "CREATE" else "other"
        assert value(registry, "maar_webhook_reviews_total", **where, operation=shown) == 1
    seconds = {"resource": "queues", "webhook": "validate"}
    assert value(registry, "maar_webhook_review_seconds_sum", **seconds) == pytest.approx(0.016)
    metrics.turned_away(HTTPStatus.BAD_REQUEST)
    assert value(registry, "maar_webhook_bad_requests_total", status="400") == 1


def test_the_webhooks_show_when_their_certificate_expires(registry: CollectorRegistry) -> None:
    metrics, ends = WebhookMetrics(registry), datetime(2026, 3, 1, tzinfo=UTC)
    metrics.serves_until(ends)
    assert value(registry, "maar_webhook_certificate_expiry_timestamp_seconds") == ends.timestamp()


async def answered(server: WebhookServer, path: str, body: bytes) -> int:
    """Send one request through ASGI; gives the status."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        sent.append(message)

    await server({"type": "http", "method": "POST", "path": path}, receive, send)
    return int(sent[0]["status"])


@pytest.mark.anyio
async def test_the_webhooks_count_what_they_answer_but_not_who_asks_how_they_are(
    registry: CollectorRegistry,
) -> None:
    judge = AdmissionReviewer(Options())
    server = WebhookServer(judge, WebhookMetrics(registry))
    asked = {"uid": "u", "operation": "CREATE", "resource": {"resource": "queues"}, "object": {"spec": {}}}
    review = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked})
    assert await answered(server, "/readyz", b"") == 503
    assert "maar_webhook_bad_requests_total" not in samples(registry)
    assert await answered(server, "/queues/mutate", review.encode()) == 503
    judge.warm.set()
    assert await answered(server, "/queues/mutate", review.encode()) == 200
    assert await answered(server, "/queues/mutate", b"{") == 400
    for status in ("400", "503"):
        assert value(registry, "maar_webhook_bad_requests_total", status=status) == 1
    where = {"resource": "queues", "webhook": "mutate", "operation": "CREATE", "verdict": "changed"}
    assert value(registry, "maar_webhook_reviews_total", **where) == 1


class _BrokenReviewer(AdmissionReviewer):
    async def review(self, verb: Verb, request: Request) -> Verdict:
        raise LookupError(f"{verb} {request.resource}")


@pytest.mark.anyio
async def test_a_review_that_meets_a_defect_is_counted_and_left_to_the_server(
    registry: CollectorRegistry,
) -> None:
    judge = _BrokenReviewer(Options())
    judge.warm.set()
    asked = {"uid": "u", "operation": "CREATE", "resource": {"resource": "queues"}, "object": {"spec": {}}}
    review = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked})
    with pytest.raises(LookupError):
        await answered(WebhookServer(judge, WebhookMetrics(registry)), "/queues/mutate", review.encode())
    assert value(registry, "maar_webhook_bad_requests_total", status="500") == 1
