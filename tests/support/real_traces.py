"""Logs of real machines, which belong to others: in a folder `shared/traces` above the checkout, or not."""

from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


def real_trace(name: str) -> Path:
    """A file of that folder; a test that needs one where there is none says so and is skipped."""
    for folder in _ROOT.parents:
        file = folder / "shared" / "traces" / name
        if file.is_file():
            return file
    return pytest.skip(f"there is no shared/traces/{name} above the checkout")
