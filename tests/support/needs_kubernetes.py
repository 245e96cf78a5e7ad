"""When tests run on a real control plane: where it is asked for, and then it must be there."""

import os

import pytest

from support.programs import find_binaries
from support.prometheus import find_prometheus


def needs_kubernetes() -> None:
    """Skip the test unless MAAR_KUBERNETES=required is set; then fail it where nothing is built."""
    if os.environ.get("MAAR_KUBERNETES") != "required":
        pytest.skip("needs a real control plane: make test-kubernetes runs it")
    if find_binaries() is None:
        pytest.fail("MAAR_KUBERNETES=required, but there is no control plane: run make kubernetes")


def needs_prometheus() -> None:
    """Skip the test where there is no Prometheus; with MAAR_KUBERNETES=required it must be there."""
    if find_prometheus() is not None:
        return
    if os.environ.get("MAAR_KUBERNETES") == "required":
        pytest.fail("MAAR_KUBERNETES=required, but there is no Prometheus: run make prometheus")
    pytest.skip("needs a real Prometheus: make prometheus builds it")
