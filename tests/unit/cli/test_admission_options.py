"""The options of admission are the same for every command that judges objects."""

from collections.abc import Callable
from inspect import signature

import pytest

from maar.cli.up import up
from maar.cli.validate import validate
from maar.cli.webhooks import webhooks
from maar.core.admission.request import Options

_SHARED = ("guarantee_over_total", "child_capability", "max_queue_depth", "max_job_pods")


@pytest.mark.parametrize("command", [webhooks, up, validate])
def test_commands_that_judge_share_their_options(command: Callable[..., None]) -> None:
    parameters = signature(command).parameters
    assert set(_SHARED) <= parameters.keys()
    for name in _SHARED:
        assert parameters[name].default == getattr(Options(), name)
        assert parameters[name].annotation is signature(webhooks).parameters[name].annotation
