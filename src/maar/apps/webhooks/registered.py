"""Hears when something changes that has to stay as the webhooks need it: their keys and configurations.

Only that something has changed is heard, and of objects only the metadata comes; whoever acts on it
reads what there is, and writes only where that is still so.
"""

import asyncio
import logging
from typing import ClassVar, Final, cast

from maar.apps.webhooks.configurations import registrations
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.metadata import Summary
from maar.kube.api_server import ApiServer
from maar.kube.watch import Trouble, Watch, unless_repeated

_LOG: Final = logging.getLogger(__name__)


class MutatingWebhookConfiguration(Summary, frozen=True):
    """Who fills in what is left out."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    plural: ClassVar[str] = "mutatingwebhookconfigurations"
    namespaced: ClassVar[bool] = False


class ValidatingWebhookConfiguration(Summary, frozen=True):
    """Who refuses and warns."""

    api_version: ClassVar[str] = "admissionregistration.k8s.io/v1"
    plural: ClassVar[str] = "validatingwebhookconfigurations"
    namespaced: ClassVar[bool] = False


class Secret(Summary, frozen=True):
    """Where the keys are kept; they themselves are not sent."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "secrets"
    namespaced: ClassVar[bool] = True


class Registered:
    """Watches a Secret and the configurations that Maar ships; `changed` is set when one changes."""

    def __init__(self, server: ApiServer, secret: str) -> None:
        namespace, _, name = secret.partition("/")
        self.changed = asyncio.Event()
        self.warm = asyncio.Event()  # set once it hears of everything
        self._ours = {secret, *(one.name for one in registrations())}
        report = unless_repeated(_report)
        self._watches = [
            Watch(
                server,
                _watched(Secret),
                self._feed,
                report,
                namespace=namespace,
                fields=f"metadata.name={name}",
            ),
            *(
                Watch(server, _watched(kind), self._feed, report)
                for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
            ),
        ]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for watch in self._watches:
                tasks.create_task(watch.run())
            for watch in self._watches:
                await watch.synced()
            self.warm.set()

    def _feed(self, events: list[Event]) -> None:
        keys = {one.object.key if isinstance(one, Upserted) else one.key for one in events}
        if not keys.isdisjoint(self._ours):
            self.changed.set()


def _watched(kind: type[Summary]) -> type[AnyObject]:
    return cast("type[AnyObject]", kind)  # a summary is read as those of workloads are


def _report(trouble: Trouble) -> None:
    _LOG.warning("%s: %s", trouble.kind, trouble.problem)
