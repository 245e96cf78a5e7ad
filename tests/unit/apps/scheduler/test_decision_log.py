"""What a scheduler decides is in its log: a line a decision with -v, every pod with -vv."""

import logging
from collections.abc import Iterator

import pytest

from maar.apps.daemons.logs import set_up_logs
from maar.apps.scheduler.decision_log import DECISIONS, DecisionLog
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.model.reasons import Reason, Refusal
from maar.core.model.writes import Bind, Evict

WAITS = GroupOutcome(
    phase="Pending", refusal=Refusal(reason=Reason.QUEUE_MISSING), message="no node has room"
)
BUSY = Plan(
    binds=(Bind(pod="a/p-0", node="n1"), Bind(pod="a/p-1", node="n2")),
    evictions=(Evict(pod="b/q-0", action="reclaim", beneficiary="a/p"),),
    pod_groups={"a/p": GroupOutcome(phase="Inqueue"), "c/r": WAITS},
)
QUIET = Plan(pod_groups={"a/p": GroupOutcome(phase="Inqueue"), "c/r": WAITS})
SUMMARY = "INFO     maar.decisions: decided in 12 ms bound=2 evicted=1 let_in=1 waiting=1"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root, level = logging.getLogger(), logging.getLogger(DECISIONS).level
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before[0], before[1]
    logging.getLogger(DECISIONS).setLevel(level)
    logging.captureWarnings(capture=False)


def lines(capsys: pytest.CaptureFixture[str], verbosity: int, *plans: Plan) -> list[str]:
    set_up_logs("text", verbosity=verbosity)
    log = DecisionLog()
    for plan in plans:
        log.write(plan, {}, 0.012)
    return [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]


def test_nobody_hears_of_decisions_who_does_not_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, 0, BUSY, QUIET) == []


def test_every_decision_is_a_line_also_one_that_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = "INFO     maar.decisions: decided in 12 ms bound=0 evicted=0 let_in=0 waiting=1"
    assert lines(capsys, 1, BUSY, QUIET) == [SUMMARY, quiet]


def test_a_group_that_waits_no_longer_is_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    *_, last = lines(capsys, 1, BUSY, Plan())
    assert last.endswith("bound=0 evicted=0 let_in=0 waiting=0")


def test_every_pod_and_group_has_a_line_at_the_second_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.replace("maar.decisions: ", "") for line in lines(capsys, 3, BUSY, QUIET)] == [
        SUMMARY.replace("maar.decisions: ", ""),
        "DEBUG    pod group a/p is let in",
        "DEBUG    pod a/p-0 is bound to n1",
        "DEBUG    pod a/p-1 is bound to n2",
        "DEBUG    pod b/q-0 is evicted by reclaim for pod group a/p",
        "DEBUG    pod group c/r waits (QueueMissing): no node has room",
        "INFO     decided in 12 ms bound=0 evicted=0 let_in=0 waiting=1",
    ]
