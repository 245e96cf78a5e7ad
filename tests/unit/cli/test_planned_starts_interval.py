"""How often planned starts are written: a bad interval stops the scheduler before it starts."""

import pytest

from support.commands import Run, run

__all__ = ["run"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.1s", "that is too often; write at least 1s, or 0"),
        ("soon", "'soon' is not a duration: write 30s, 1h30m or 500ms"),
    ],
)
def test_a_bad_interval_is_refused(run: Run, text: str, problem: str) -> None:
    ended = run("maar", "scheduler", "--planned-starts-interval", text)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"error: --planned-starts-interval {text}: {problem}\n"
