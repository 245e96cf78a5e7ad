"""Whole numbers in texts that anybody may have written."""

import pytest

from maar.core.model.whole_numbers import whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9223372036854775807", 2**63 - 1)])
def test_digits_are_read(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", " 1", "1_0", "\u00b2", "\u0663", "9223372036854775808", "9" * 5_000]
)
def test_anything_else_is_none(text: str) -> None:
    assert whole_number(text) is None
