"""What the client makes of words: paths of objects, answers of servers, pauses between attempts."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.kinds import KINDS
from maar.core.model.pod import Pod
from maar.core.model.queue import Queue
from maar.kube.errors import ApiError
from maar.kube.lease import Term
from maar.kube.paths import LEASES, resource_path_of
from maar.kube.retry import LONGEST_S, Backoff


def test_every_kind_has_a_place() -> None:
    places = [resource_path_of(kind) for kind in KINDS]
    assert len({(place.api_version, place.plural) for place in places}) == len(KINDS)
    for kind, place in zip(KINDS, places, strict=True):
        assert (place.api_version, place.namespaced) == (kind.api_version, kind.namespaced)


def test_paths_are_kubernetes_own() -> None:
    assert resource_path_of(Pod).all() == "/api/v1/pods"
    assert resource_path_of(Pod).all("a") == "/api/v1/namespaces/a/pods"
    assert resource_path_of(Pod).one("a/p", "binding") == "/api/v1/namespaces/a/pods/p/binding"
    assert resource_path_of(Queue).one("q") == "/apis/scheduling.volcano.sh/v1beta1/queues/q"
    assert LEASES.one("a/b") == "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"


def test_a_name_cannot_lead_elsewhere() -> None:
    assert (
        resource_path_of(Queue).one("q?x=%2F#")
        == "/apis/scheduling.volcano.sh/v1beta1/queues/q%3Fx%3D%252F%23"
    )
    for place, key in ((Pod, "p"), (Pod, "/p"), (Pod, "a/"), (Queue, "a/q"), (Queue, "")):
        with pytest.raises(ValueError, match=r"is no key of .*: write "):
            resource_path_of(place).one(key)


def test_a_status_is_read_with_its_causes() -> None:
    cause = {"reason": "FieldValueInvalid", "message": "too light", "field": "spec.weight"}
    details = {"name": "q", "group": "g", "kind": "Queue", "causes": [cause], "retryAfterSeconds": 3}
    status = {"kind": "Status", "status": "Failure", "message": "no", "reason": "Invalid", "details": details}
    error = ApiError.of(json.dumps(status).encode(), 422)
    assert (error.code, error.reason, str(error), error.retry_after_s) == (422, "Invalid", "no", 3)
    assert [(one.field, one.message) for one in error.details.causes] == [("spec.weight", "too light")]
    assert not error.is_passing


@given(st.binary(max_size=300) | st.text().map(lambda text: json.dumps({"message": text}).encode()))
def test_whatever_a_server_says_is_an_error_with_words(body: bytes) -> None:
    error = ApiError.of(body, 503)
    assert (error.code, error.is_passing, error.may_be_done) == (503, True, True)
    assert error.message


@pytest.mark.parametrize(
    ("code", "status", "passing"),
    [
        (429, {"reason": "TooManyRequests"}, True),
        (429, {"details": {"causes": [{"reason": "DisruptionBudget"}]}}, False),
        (500, {"reason": "InternalError"}, True),
        (500, {"message": "This pod has more than one PodDisruptionBudget"}, False),
        (502, {}, True),
        (503, {}, True),
        (504, {}, True),
        (409, {"reason": "Conflict"}, False),
        (403, {"reason": "Forbidden"}, False),
    ],
)
def test_some_troubles_pass(code: int, status: dict[str, object], passing: bool) -> None:  # noqa: FBT001  # data
    assert ApiError.of(json.dumps(status).encode(), code).is_passing is passing


def test_pauses_grow_up_to_a_second_and_start_anew() -> None:
    backoff = Backoff()
    pauses = [backoff.pause_s() for _ in range(20)]
    assert 0.02 < pauses[0] <= 0.05
    assert all(LONGEST_S / 2 <= pause <= LONGEST_S for pause in pauses[6:])
    assert len(set(pauses)) > 15, "nobody comes back in step with others"
    backoff.reset()
    assert backoff.pause_s() <= 0.05


def test_a_term_lapses_by_the_clock_may_be_renewed_and_ends_for_good() -> None:
    term = Term()
    assert not term.holding()
    term.extend(time.monotonic() + 60)
    assert term.holding()
    term.extend(time.monotonic())
    assert not term.holding(), "no message had to reach it"
    term.extend(time.monotonic() + 60)
    assert term.holding(), "a starved process whose lease is still its own goes on"
    term.end()
    term.extend(time.monotonic() + 60)
    assert not term.holding(), "a renewal that comes too late"
