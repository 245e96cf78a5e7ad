"""The reviewer behind the webhooks: watches the cluster, and waits shortly for changes under way."""

import asyncio
import logging
from typing import Final

from maar.apps.webhooks.reviews import Verb
from maar.core.admission.cluster import KNOWN_KINDS, KnownCluster
from maar.core.admission.request import Options, Request, Verdict
from maar.core.admission.review import mutate, validate
from maar.core.admission.rules import RULES_ABOUT_OTHERS
from maar.core.model.events import Event, Upserted
from maar.core.model.job import Job
from maar.core.model.namespace import Namespace
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.watch import Trouble, Watch, unless_repeated

_LOG: Final = logging.getLogger(__name__)

TIMEOUT_S: Final = 0.25  # changes come within hundredths of a second, and somebody waits for the answer
WATCHED: Final = KNOWN_KINDS
_HOLDING: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"  # other pods count nowhere
_ABOUT_OTHERS: Final = (Queue, PodGroup, Job, Namespace)


class AdmissionReviewer:
    """Reviews requests with the watched state of the cluster."""

    def __init__(self, options: Options) -> None:
        self.known = KnownCluster(options.scheduler_names)
        self.warm = asyncio.Event()  # set once everything is known that was there at the start
        self._options = options
        self._namespaces = set[str]()
        self._news = asyncio.Event()

    async def run(self, server: ApiServer) -> None:
        """Watch the cluster until cancelled; reviews need all kinds listed."""
        watches = [
            Watch(server, kind, self.feed, unless_repeated(_report), fields=_HOLDING if kind is Pod else "")
            for kind in WATCHED
        ]
        async with asyncio.TaskGroup() as tasks:
            for watch in watches:
                tasks.create_task(watch.run())
            for watch in watches:
                await watch.synced()
            self.warm.set()

    def feed(self, events: list[Event]) -> None:
        """Learn what has happened."""
        self.known.feed(events)
        is_news = False
        for event in events:
            if isinstance(event, Upserted):
                is_news |= isinstance(event.object, _ABOUT_OTHERS)
                if isinstance(event.object, Namespace):
                    self._namespaces.add(event.object.key)
            else:
                is_news = True
                if event.kind == Namespace.__name__:
                    self._namespaces.discard(event.key)
        if is_news:
            self._news.set()
            self._news = asyncio.Event()

    async def review(self, verb: Verb, request: Request) -> Verdict:
        """Answer at once, or after a moment where a change that may be on its way would change the answer."""
        verdict = self._verdict(verb, request)
        if self._may_pass(request, verdict):
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    while self._may_pass(request, verdict):
                        await self._news.wait()
                        verdict = self._verdict(verb, request)
            except TimeoutError:
                pass  # it is as it is
        return verdict

    def _verdict(self, verb: Verb, request: Request) -> Verdict:
        if verb == "mutate":
            return Verdict(patch=mutate(request, self.known, self._options))
        return validate(request, self.known, self._options)

    def _may_pass(self, request: Request, verdict: Verdict) -> bool:
        if request.namespace and request.namespace not in self._namespaces:
            return True
        return any(one.rule in RULES_ABOUT_OTHERS for one in (*verdict.refusals, *verdict.warnings))


def _report(trouble: Trouble) -> None:
    _LOG.warning("%s: %s", trouble.kind, trouble.problem)
