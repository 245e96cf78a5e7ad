"""Whole programs, driven as people drive them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    """`maar up` with its default nodes, and the real kubectl."""
    needs_kubernetes()
    with MaarUp(tmp_path_factory.mktemp("up")) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place for files of a test."""
    return tmp_path
