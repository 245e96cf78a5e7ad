"""The report at the end of a run: what the laws were tried on."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the laws were tried on, and how to have the same again."""
    seeds = set[int]()
    for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
        recorded = dict(report.user_properties)
        if report.when == "call" and "seed" in recorded:
            if not seeds:
                terminalreporter.section("what the laws were tried on")
            seeds.add(recorded["seed"])
            name = report.nodeid.rpartition("::")[2]
            terminalreporter.line(f"{name}: {recorded.get('census', 'failed')}")
    for used in sorted(seeds):
        terminalreporter.line(f"the same again: --hypothesis-seed={used}")
