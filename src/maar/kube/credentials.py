"""Credentials for an API server: found where kubectl finds them, and refreshed while the process runs."""

import asyncio
import os
import ssl
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from maar.kube.sources import CredentialsError, InCluster, Kubeconfig, NoClusterError, Proofs, Source

FRESH_FOR_S: Final = 60.0  # tokens are replaced, on disk or by a plugin, some time before they end
PLUGIN_TIMEOUT_S: Final = 60.0  # a plugin may wait for a person, but not without a limit
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


async def load(
    kubeconfig: Path | None = None, context: str | None = None, service_account: Path = SERVICE_ACCOUNT
) -> "Credentials":
    """Take the kubeconfig that is named, or $KUBECONFIG, or a pod's service account, or the user's own."""
    named = str(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG", "")
    users = Path.home() / ".kube" / "config"
    source: Source
    if named:
        source = Kubeconfig(named, context)
    elif "KUBERNETES_SERVICE_HOST" in os.environ and (service_account / "token").is_file():
        source = InCluster(service_account)
    elif users.is_file():
        source = Kubeconfig(str(users), context)
    else:
        raise NoClusterError(
            f"no cluster is configured: no kubeconfig is named, KUBECONFIG is not set, this is no pod, and "
            f"{users} does not exist; start a cluster with maar up, or name a kubeconfig with --kubeconfig"
        )
    return Credentials(source, await _read(source, anew=False))


class Credentials:
    """The current token and certificates for an API server."""

    def __init__(self, source: Source, proofs: Proofs) -> None:
        self._source, self.proofs = source, proofs
        self._read_at = time.monotonic()
        self._reading = asyncio.Lock()
        self._files: tuple[tuple[str, int], ...] = ()
        self.tls = _context(proofs)
        self._load_files()

    @property
    def is_stale(self) -> bool:
        """Whether they should be read again before they are used."""
        return time.monotonic() >= self._read_at + FRESH_FOR_S

    @property
    def certificates(self) -> tuple[tuple[str, int], ...]:
        """Which certificates connections are opened with now: files, and when they were written."""
        return self._files

    @property
    def proxy(self) -> str | None:
        """The proxy to go through: the cluster's, or the one that the environment names for its host."""
        if self.proofs.proxy:
            return self.proofs.proxy
        server = urlsplit(self.proofs.server)
        is_direct = server.hostname is None or proxy_bypass(server.hostname)
        return None if is_direct else getproxies().get(server.scheme)

    async def refresh(self, *, rejected: str | None = None) -> None:
        """Read them again if they are stale, or if the server has rejected the authorization they give."""
        async with self._reading:
            is_rejected = rejected == self.proofs.authorization
            if not self.is_stale and not is_rejected:
                return  # another task has just done it
            try:
                self.proofs = await _read(self._source, anew=is_rejected)
                self._load_files()
            except CredentialsError:
                if is_rejected:
                    raise
                # Those we have may hold for a while; the next minute may be better.
            self._read_at = time.monotonic()

    def _load_files(self) -> None:
        """Give certificates to the connections that will be opened from now on."""
        proofs = self.proofs
        try:
            files = tuple(
                (name, Path(name).stat().st_mtime_ns)
                for name in (
                    proofs.certificate_authority,
                    proofs.certificate,
                    proofs.key,
                )
                if name
            )
            if files != self._files:
                if proofs.certificate_authority:
                    self.tls.load_verify_locations(proofs.certificate_authority)
                if proofs.certificate:
                    self.tls.load_cert_chain(proofs.certificate, proofs.key)
                self._files = files
        except (OSError, ValueError) as error:
            raise CredentialsError(
                f"{self._source.name}: its certificates cannot be read: {error}; have it made anew"
            ) from error


def _context(proofs: Proofs) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Certificates that kubectl accepts, such as those an API server makes for itself, are good enough here.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not proofs.is_server_checked:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif not proofs.certificate_authority:
        context.load_default_certs()
    return context


async def _read(source: Source, *, anew: bool) -> Proofs:
    try:
        async with asyncio.timeout(PLUGIN_TIMEOUT_S):
            return await source.read(anew=anew)
    except TimeoutError:
        raise CredentialsError(
            f"{source.name}: its plugin gave no answer in {PLUGIN_TIMEOUT_S:.0f} s; run it by hand to see why"
        ) from None
