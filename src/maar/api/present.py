"""A cluster in files as questions about the future take it."""

import time

from maar.api.arguments import configuration_of
from maar.api.manifests import Manifests, recorded_configuration, the_snapshot
from maar.core.answers.future import Present
from maar.core.policy.configuration import Configuration


def present_of(manifests: Manifests, given: Configuration | None = None, now: float | None = None) -> Present:
    """A cluster in files, at the time and with the configuration of its snapshot if there is one."""
    seen, objects = the_snapshot(manifests.snapshots), tuple(manifests.objects)
    if seen is None:
        return Present(objects, given or configuration_of(None), time.time() if now is None else now)
    moment = seen.time.timestamp() if now is None else now
    return Present(objects, given or recorded_configuration(seen), moment, seen.scheduler_name)
