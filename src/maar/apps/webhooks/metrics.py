"""Metrics of the webhooks."""

from datetime import datetime
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from maar.apps.webhooks.reviews import Verb
from maar.core.admission.request import CREATE, DELETE, UPDATE, Request, Verdict

_REVIEW_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_OPERATIONS: Final = (CREATE, UPDATE, DELETE, "CONNECT")


class WebhookMetrics:
    """Counts reviews by what they were about and how they ended."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._reviews = Counter(
            "maar_webhook_reviews_total",
            "Reviews, by how they ended: allowed, changed, warned or refused.",
            ["resource", "webhook", "operation", "verdict"],
            registry=registry,
        )
        self._seconds = Histogram(
            "maar_webhook_review_seconds",
            "From the head of a request to the verdict, a short wait for changes under way included.",
            ["resource", "webhook"],
            buckets=_REVIEW_S,
            registry=registry,
        )
        self._unanswered = Counter(
            "maar_webhook_bad_requests_total",
            "Requests that got no review, by their HTTP status.",
            ["status"],
            registry=registry,
        )
        self._certificate = Gauge(
            "maar_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that is served expires, in seconds since 1970; it is renewed long before.",
            registry=registry,
        )

    def serves_until(self, ends: datetime) -> None:
        """Show when the certificate that is served from now on expires."""
        self._certificate.set(ends.timestamp())

    def reviewed(self, verb: Verb, request: Request, verdict: Verdict, seconds: float) -> None:
        """Count a review."""
        # Callers choose what they write there, and must not choose how many series there are.
        operation = request.operation if request.operation in _OPERATIONS else "other"
        self._reviews.labels(request.resource, verb, operation, _word(verdict)).inc()
        self._seconds.labels(request.resource, verb).observe(seconds)

    def turned_away(self, status: HTTPStatus) -> None:
        """Count a request that was none for a review, came too early, or met a defect of ours."""
        self._unanswered.labels(str(int(status))).inc()


def _word(verdict: Verdict) -> str:
    if not verdict.allowed:
        return "refused"
    if verdict.warnings:
        return "warned"
    return "changed" if verdict.patch else "allowed"
