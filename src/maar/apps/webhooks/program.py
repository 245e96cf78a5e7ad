"""`maar webhooks`: admission over HTTPS, with certificates that Maar makes, renews and has trusted."""

import asyncio
import gc
import logging
import signal
import ssl
import tempfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from maar.apps.daemons.health import happened, serve_on, take
from maar.apps.metrics.registry import new_registry
from maar.apps.webhooks.configurations import Wanted, register, service_hosts
from maar.apps.webhooks.metrics import WebhookMetrics
from maar.apps.webhooks.registered import Registered
from maar.apps.webhooks.reviewer import AdmissionReviewer
from maar.apps.webhooks.server import HEALTH, NOT_READY, Clients, WebhookServer
from maar.core.admission.request import Options
from maar.kube.api_server import ApiServer
from maar.kube.certificates import VALID_FOR, CertificatesError, KeptKeys, Keys
from maar.kube.credentials import load
from maar.serving.client_certificates import ask_for_certificates
from maar.serving.http_server import HttpServer, server_tls
from maar.serving.listening import listen
from maar.serving.visits import Bounds

_LOG: Final = logging.getLogger(__name__)

SECRET: Final = "maar-system/maar-webhooks"  # noqa: S105  # the name of one, not a secret
_LONGEST_S: Final = 3600.0  # between two looks at whether keys are due, although nothing has changed
_SHORTEST_S: Final = 1.0  # between two looks, however often something changes
_AGAIN_S: Final = 30.0  # after a look that could not put everything right
CHANGES_WITHIN_S: Final = 2.0  # an API server knows by then whom to trust anew
_BOUNDS: Final = Bounds(connections=1_000, of_one_peer=250, probes=HEALTH)
_FINISH_WITHIN_S: Final = 3  # seconds that running reviews get at the end

Announce = Callable[[str], None]  # hears the address once reviews are answered


@dataclass(frozen=True)
class WebhookSettings:
    """Where to answer and how to review."""

    host: str = "0.0.0.0"  # noqa: S104  # API servers call from other machines
    port: int = 8443
    url: str = ""  # how API servers reach us where no Service leads here
    listen: str = ""  # where metrics and health are shown; empty where they are not
    kubeconfig: Path | None = None
    context: str | None = None
    valid_for: timedelta = VALID_FOR
    options: Options = field(default_factory=Options)
    client_ca: Path | None = None  # whose certificates API servers show; None where they show none
    client_names: frozenset[str] = frozenset()


async def webhooks(settings: WebhookSettings, announce: Announce) -> None:
    """Answer reviews until SIGINT or SIGTERM; `announce` is called when it is ready."""
    shown_at = take(settings.listen) if settings.listen else nullcontext()
    with shown_at as status, listen(settings.host, settings.port) as place:
        async with ApiServer(await load(settings.kubeconfig, settings.context)) as api:
            reviewer, stop, registry = AdmissionReviewer(settings.options), asyncio.Event(), new_registry()
            metrics = WebhookMetrics(registry)
            certificates = _Certificates(api, settings, metrics)
            if settings.client_ca is not None:
                ask_for_certificates(certificates.tls, settings.client_ca)
            await certificates.look()
            clients = Clients(settings.client_ca is not None, settings.client_names)
            server = https_server(WebhookServer(reviewer, metrics, clients), certificates.tls)
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(server.serve(sockets=[place]))
                address = settings.url or f"https://{settings.host}:{place.getsockname()[1]}"
                background = [
                    tasks.create_task(reviewer.run(api)),
                    tasks.create_task(certificates.registered.run()),
                    tasks.create_task(certificates.keep()),
                    tasks.create_task(
                        _announce((reviewer.warm, certificates.registered.warm), lambda: announce(address))
                    ),
                ]
                if status is not None:
                    ready = {"cluster": happened(reviewer.warm, NOT_READY)}
                    background.append(tasks.create_task(serve_on(status, {}, ready, registry)))
                await stop.wait()
                await server.finish(serving)
                for task in background:
                    task.cancel()


class _Certificates:
    """What TLS is served with, always the newest that clients trust; new connections get it."""

    def __init__(self, api: ApiServer, settings: WebhookSettings, metrics: WebhookMetrics) -> None:
        host = urlsplit(settings.url).hostname
        self._api, self._metrics = api, metrics
        self._kept = KeptKeys(api, SECRET, (host,) if host else service_hosts(), settings.valid_for)
        self._wanted = Wanted(settings.options.scheduler_names, settings.url)
        self.registered = Registered(api, SECRET)
        self._longest_s = min(_LONGEST_S, settings.valid_for.total_seconds() / 10)
        self._served: Keys | None = None
        self._problems: list[str] = []
        self.tls = server_tls()

    async def keep(self) -> None:
        """Look again when something has changed or may be due, until cancelled."""
        while True:
            longest_s = min(self._longest_s, _AGAIN_S) if self._problems else self._longest_s
            with suppress(TimeoutError):
                async with asyncio.timeout(longest_s):
                    await self.registered.changed.wait()
            self.registered.changed.clear()
            try:
                await self.look()
            except CertificatesError as error:
                self._report([str(error)])
            await asyncio.sleep(min(_SHORTEST_S, self._longest_s))

    async def look(self) -> None:
        """Renew what is due, have it trusted, and only then serve with it."""
        keys = await self._kept.look()
        self._report(await register(self._api, self._wanted, keys.trusted(datetime.now(UTC))))
        if self._served is not None and self._served.authority != keys.authority:
            await asyncio.sleep(CHANGES_WITHIN_S)
        if self._served != keys:
            serve_with(self.tls, keys)
            self._served = keys
            self._metrics.serves_until(keys.ends)

    def _report(self, problems: list[str]) -> None:
        for problem in problems:
            if problem not in self._problems:  # once: it is looked at every few seconds
                _LOG.warning("%s", problem)
        self._problems = problems


def serve_with(tls: ssl.SSLContext, keys: Keys) -> None:
    """Give a certificate to the connections that come from now on; Python reads it from files only."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        certificate.write_bytes(keys.certificate)
        key.write_bytes(keys.key)
        tls.load_cert_chain(certificate, key)


def https_server(application: WebhookServer, tls: ssl.SSLContext) -> HttpServer:
    """The application over HTTPS."""
    return HttpServer(application, bounds=_BOUNDS, finish_within_s=_FINISH_WITHIN_S, tls=tls)


async def _announce(warm: Iterable[asyncio.Event], announce: Callable[[], None]) -> None:
    for one in warm:
        await one.wait()
    spare_what_is_known()
    announce()


def spare_what_is_known() -> None:
    """Leave what is in memory now out of garbage collections: looking through it all holds up reviews."""
    gc.collect()
    gc.freeze()
