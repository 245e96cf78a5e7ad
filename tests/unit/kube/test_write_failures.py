"""Writes that fail are said once, counted, and make a process unready only where nothing works."""

import logging

import pytest

from maar.kube.errors import Cause
from maar.kube.outcome import Conflict, Done, Gone, Outcome, Protected, Refused, Unanswered
from maar.kube.write import FENCED
from maar.kube.write_failures import FORGOTTEN_S, WriteFailures

DONE = Done(b"")
AWAY = Unanswered("https://there: it gave no answer in time")


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failures(clock: Clock) -> WriteFailures:
    return WriteFailures(clock)


def not_permitted(key: str) -> Refused:
    namespace, name = key.split("/")
    message = (
        f'podgroups.scheduling.volcano.sh "{name}" is forbidden: User "maar" cannot create resource '
        f'"podgroups" in API group "scheduling.volcano.sh" in the namespace "{namespace}"'
    )
    return Refused(403, "Forbidden", message)


def over_quota(used: int) -> Refused:
    return Refused(403, "Forbidden", f"exceeded quota: small, used: count/pods={used}, limited: count/pods=9")


def attempt(failures: WriteFailures, key: str, outcome: Outcome, operation: str = "Create") -> bool:
    return failures.answered(operation, "PodGroup", key, outcome)


def test_one_cause_is_logged_once_however_many_objects_and_attempts_it_spoils(
    failures: WriteFailures, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        for key in ("a/one", "b/two", "b/three"):
            attempt(failures, key, not_permitted(key))
    (only,) = caplog.messages
    assert only.startswith('cannot create PodGroup a/one: podgroups.scheduling.volcano.sh "one" is forbidden')
    assert only.endswith("it is tried again")


def test_another_cause_is_another_problem(failures: WriteFailures, caplog: pytest.LogCaptureFixture) -> None:
    assert attempt(failures, "a/one", over_quota(8))
    assert not attempt(failures, "a/one", over_quota(9)), "numbers alone are no news"
    assert attempt(failures, "a/one", Refused(400, "BadRequest", 'webhook "w" denied the request'))
    assert attempt(failures, "a/one", over_quota(9), operation="Change")
    assert len(caplog.messages) == 3


def test_the_end_of_a_problem_is_logged_when_its_last_object_is_written(
    failures: WriteFailures, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    attempt(failures, "a/one", AWAY)
    attempt(failures, "a/two", AWAY)
    attempt(failures, "a/one", DONE)
    assert len(caplog.messages) == 1
    attempt(failures, "a/two", Gone("it is not there"))
    assert caplog.messages[1].startswith("can create PodGroup again")
    attempt(failures, "a/two", DONE)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize(
    "outcome", [DONE, Gone("x"), Conflict("x"), Protected("x"), Refused(0, FENCED, "no lease")], ids=str
)
def test_what_is_no_failure_is_not_counted(failures: WriteFailures, outcome: Outcome) -> None:
    attempt(failures, "a/one", outcome)
    assert not failures.totals
    assert failures.standing() == {}


def test_failures_are_counted_by_operation_kind_and_reason(failures: WriteFailures) -> None:
    attempt(failures, "a/one", over_quota(1))
    attempt(failures, "a/one", over_quota(1))
    attempt(failures, "a/two", AWAY)
    attempt(failures, "a/two", Refused(400, "made up by a webhook, and never the same", "no"))
    assert failures.totals == {
        ("Create", "PodGroup", "Forbidden"): 2,
        ("Create", "PodGroup", "Unanswered"): 1,
        ("Create", "PodGroup", "Other"): 1,
    }
    assert failures.standing() == {("Create", "PodGroup"): 2}
    attempt(failures, "a/one", DONE)
    attempt(failures, "a/two", DONE)
    assert failures.standing() == {("Create", "PodGroup"): 0}


@pytest.mark.parametrize(
    "outcome",
    [AWAY, not_permitted("a/one"), Refused(507, "InsufficientStorage", "the disk is full")],
    ids=str,
)
def test_one_object_says_that_nothing_works_where_the_cause_is_not_its_own(
    failures: WriteFailures, clock: Clock, outcome: Outcome
) -> None:
    for _ in range(4):
        attempt(failures, "a/one", outcome)
        clock.now += 10
    (sentence,) = failures.lasting(30)
    assert sentence == f"it cannot create PodGroup for 40 s, 1 in all: {getattr(outcome, 'message', '')}"
    assert list(failures.lasting(50)) == []


def test_a_single_bad_object_is_no_reason_to_be_unready_but_two_without_a_success_are(
    failures: WriteFailures, clock: Clock
) -> None:
    attempt(failures, "a/one", over_quota(9))
    clock.now += 60
    attempt(failures, "a/one", over_quota(9))
    assert list(failures.lasting(30)) == []
    attempt(failures, "a/two", over_quota(9))
    (sentence,) = failures.lasting(30)
    assert "for 60 s, 2 in all: exceeded quota" in sentence
    attempt(failures, "a/three", DONE)
    assert list(failures.lasting(30)) == [], "others can be written"


def test_what_is_not_tried_any_more_is_forgotten(failures: WriteFailures, clock: Clock) -> None:
    attempt(failures, "a/one", AWAY)
    clock.now += FORGOTTEN_S + 1
    assert list(failures.lasting(30)) == []
    assert failures.standing() == {("Create", "PodGroup"): 0}


def test_events_are_counted_and_no_reason_to_be_unready(failures: WriteFailures, clock: Clock) -> None:
    failures.answered("Record", "Event", "a/one", AWAY)
    clock.now += 60
    assert list(failures.lasting(30)) == []
    assert failures.totals["Record", "Event", "Unanswered"] == 1


def test_what_was_tried_once_is_no_reason_to_be_unready(clock: Clock, failures: WriteFailures) -> None:
    """It may not be wanted any more: its object went, or another write did the work."""
    attempt(failures, "a/one", not_permitted("a/one"))
    clock.now += 40
    assert list(failures.lasting(30)) == []
    attempt(failures, "a/one", not_permitted("a/one"))
    assert len(list(failures.lasting(30))) == 1


def test_what_an_ending_namespace_refuses_is_no_failure(failures: WriteFailures, clock: Clock) -> None:
    ends = Refused(403, "Forbidden", "namespace a is being terminated", (Cause("NamespaceTerminating"),))
    for key in ("a/one", "a/two"):
        attempt(failures, key, AWAY)
    for _ in range(3):
        clock.now += 20
        for key in ("a/one", "a/two"):
            assert not attempt(failures, key, ends)
    assert list(failures.lasting(10)) == []
    assert failures.standing() == {("Create", "PodGroup"): 0}


def test_failures_end_with_their_object_and_with_its_owner(failures: WriteFailures, clock: Clock) -> None:
    for _ in range(2):
        for key in ("a/one", "a/two"):
            attempt(failures, key, AWAY)
            failures.answered("Create", "Pod", f"{key}-0", AWAY, ("Job", key))
        clock.now += 20
    assert len(list(failures.lasting(10))) == 2
    for key in ("a/one", "a/two"):
        failures.object_gone("PodGroup", key)
    assert [("create Pod" in one) for one in failures.lasting(10)] == [True]
    for key in ("a/one", "a/two"):
        failures.object_gone("Job", key)
    assert list(failures.lasting(10)) == []
