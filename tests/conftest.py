"""What holds for every run, and the report at its end: what the laws were tried on, what was skipped."""

import gc
import signal
from collections import Counter
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """Let tests press Ctrl-C also in a run that a shell has put in the background, where it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def others_frozen() -> Iterator[None]:
    """Freeze what other tests have left: time spent looking through it for garbage is not measured."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the laws were tried on and how to have the same again, and what was skipped and why."""
    _say_what_was_tried(terminalreporter)
    _say_what_was_skipped(terminalreporter)


def _say_what_was_skipped(terminalreporter: pytest.TerminalReporter) -> None:
    reasons: Counter[str] = Counter()
    for report in terminalreporter.getreports("skipped"):
        place = report.longrepr
        reasons[(place[2] if isinstance(place, tuple) else str(place)).removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("what was skipped")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} test{'' if count == 1 else 's'}: {reason}")


def _say_what_was_tried(terminalreporter: pytest.TerminalReporter) -> None:
    seeds = set[int]()
    for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
        recorded = dict(report.user_properties)
        if report.when == "call" and "seed" in recorded:
            if not seeds:
                terminalreporter.section("what the laws were tried on")
            seeds.add(recorded["seed"])
            name = report.nodeid.rpartition("::")[2]
            terminalreporter.line(f"{name}: {recorded.get('counts', 'failed')}")
    for used in sorted(seeds):
        terminalreporter.line(f"the same again: --hypothesis-seed={used}")
