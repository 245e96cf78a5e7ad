"""Disruption budgets: how many pods of an application may be evicted now."""

from http import HTTPStatus
from typing import Final

import msgspec

from maar.core.model.metadata import LabelSelector
from maar.core.policy.selectors import match_selector
from maar.embedded.calls import metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import ApiError, Json, forbidden
from maar.embedded.kinds.parts import condition, is_true, labels, number, part, with_condition

PLURAL: Final = "poddisruptionbudgets.policy"

_ALLOWED: Final = "DisruptionAllowed"
_MOST_UNCONFIRMED: Final = 2000
_REFUSAL: Final = "Cannot evict pod as it would violate the pod's disruption budget."


def selector_of(budget: Json) -> LabelSelector | None:
    """Which pods a budget is about; none where it has no selector or one that cannot be read."""
    try:
        return msgspec.convert(part(budget, "spec").get("selector"), LabelSelector | None)
    except msgspec.ValidationError:
        return None


def with_answer(status: Json, generation: int, now: str) -> Json:
    """A status that says as a condition whether a pod may be evicted."""
    sufficient = number(status, "disruptionsAllowed") > 0
    statement: Json = {
        "type": _ALLOWED,
        "status": "True" if sufficient else "False",
        "reason": "SufficientPods" if sufficient else "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
    }
    return with_condition(status, statement, now)


def spend(cluster: Cluster, pod: Json) -> None:
    """Take one eviction out of the budget of a pod; refuse where there is none left."""
    meta = metadata(pod)
    namespace, name = text(meta, "namespace"), text(meta, "name")
    budgets = [
        budget
        for budget in cluster.all(PLURAL, namespace)
        if match_selector(selector_of(budget), labels(pod))
    ]
    if len(budgets) > 1:
        raise ApiError(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            "",
            "This pod has more than one PodDisruptionBudget,"
            " which the eviction subresource does not support.",
        )
    if not budgets or not _guards(budgets[0], pod):
        return
    _check(budgets[0])
    now = cluster.now()

    def spent(budget: Json) -> Json:
        status = part(budget, "status")
        left = number(status, "disruptionsAllowed") - 1
        # The pod does not count as healthy from now on, though it may take a while to go.
        evicted = {**part(status, "disruptedPods"), name: now}
        status = {**status, "disruptionsAllowed": left, "disruptedPods": evicted}
        if not left:
            status = with_answer(status, number(status, "observedGeneration"), now)
        return {**budget, "status": status}

    cluster.rewrite(PLURAL, namespace, text(metadata(budgets[0]), "name"), spent)


def _guards(budget: Json, pod: Json) -> bool:
    """Whether the loss of a pod counts; one that is not ready is lost already, unless too few are ready."""
    if is_true(part(pod, "status"), "Ready"):
        return True
    if part(budget, "spec").get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return False
    status = part(budget, "status")
    return not number(status, "currentHealthy") >= number(status, "desiredHealthy") > 0


def _check(budget: Json) -> None:
    name, status = text(metadata(budget), "name"), part(budget, "status")
    if number(status, "observedGeneration") < number(metadata(budget), "generation"):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", 10)
    if len(part(status, "disruptedPods")) > _MOST_UNCONFIRMED:
        raise forbidden(
            "poddisruptionbudget.policy",
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if number(status, "disruptionsAllowed") > 0:
        return
    healthy, desired = number(status, "currentHealthy"), number(status, "desiredHealthy")
    if healthy <= desired:
        raise _too_many(
            f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        )
    why = condition(status, _ALLOWED) or {}
    detail = f" ({why.get('reason')}): {why['message']}" if why.get("message") else ""
    raise _too_many(f"The disruption budget {name} does not allow evicting pods currently{detail}")


def _too_many(why: str, retry_after: int = 0) -> ApiError:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", _REFUSAL, details)
