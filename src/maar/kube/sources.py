"""Where credentials come from: a kubeconfig, or the service account of a pod; a library reads both."""

import binascii
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from yaml import YAMLError

from maar.kube.kubeconfig_files import ChosenContext, choose_context

if TYPE_CHECKING:  # at run time it is imported where it is used: that takes most of a second
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

# The library checks little of what it reads: a file that is no kubeconfig ends in any of these.
_UNUSABLE: Final = (
    OSError, ValueError, TypeError, LookupError, AttributeError, AssertionError, RuntimeError,
    binascii.Error, YAMLError,
)  # fmt: skip


class CredentialsError(Exception):
    """The configured credentials cannot be used."""


class NoClusterError(CredentialsError):
    """Nothing is configured at all."""


@dataclass(frozen=True)
class Proofs:
    """The address of an API server, what verifies its certificate, and what authenticates this client."""

    server: str
    namespace: str
    authorization: str = field(repr=False)  # it never stands in a log
    certificate_authority: str | None
    certificate: str | None
    key: str | None
    is_server_checked: bool
    server_name: str | None
    proxy: str | None


class Source(Protocol):
    """Where credentials can be read, again and again."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    async def read(self, *, anew: bool) -> Proofs:
        """Read them as they are now; `anew` runs a plugin again even where its last answer is still valid."""


class Kubeconfig:
    """One kubeconfig or, as in $KUBECONFIG, several that are merged."""

    def __init__(self, paths: str, context: str | None = None) -> None:
        self.name = f"kubeconfig {paths}"
        self._paths, self._context = paths, context
        self._namespace = ""
        self._loader: KubeConfigLoader | None = None

    async def read(self, *, anew: bool) -> Proofs:
        """Read tokens and certificates again; plugins run when what they gave is about to end."""
        from kubernetes_asyncio.client import Configuration  # noqa: PLC0415  # see above
        from kubernetes_asyncio.config import ConfigException  # noqa: PLC0415

        configuration = Configuration()
        try:
            if self._loader is None or anew:
                chosen = choose_context(self._paths, self._context)
                loader = _loader(chosen)
                await loader.load_and_set(configuration)
                if not hasattr(loader, "exec_plugin_expiry"):  # then it holds until it is rejected
                    loader.exec_plugin_expiry = datetime.max.replace(tzinfo=UTC)
                self._loader, self._namespace = loader, chosen.namespace
            else:
                await self._loader.load_and_set(configuration)
        except (ConfigException, *_UNUSABLE) as error:
            raise CredentialsError(f"{self.name}: {str(error) or type(error).__name__}") from error
        return _proofs(configuration, self._namespace)


def _loader(chosen: ChosenContext) -> "KubeConfigLoader":
    """Give one context to the library; its messages have the names that are given here."""
    from kubernetes_asyncio.config.kube_config import ConfigNode, KubeConfigLoader  # noqa: PLC0415  # see above

    def entry(kind: str, value: object, file: Path) -> list[ConfigNode]:
        return [ConfigNode(kind, {"name": "chosen", kind: value}, str(file))]

    parts = {
        "contexts": entry("context", {"cluster": "chosen", "user": "chosen"}, Path()),
        "clusters": entry("cluster", msgspec.to_builtins(chosen.cluster), chosen.cluster_file),
        "users": entry("user", msgspec.to_builtins(chosen.user), chosen.user_file),
    }
    return KubeConfigLoader(ConfigNode("kubeconfig", parts), "chosen", config_base_path=None)


class InCluster:
    """The service account that Kubernetes gives to a pod."""

    def __init__(self, folder: Path) -> None:
        self.name = f"service account in {folder}"
        self._folder = folder

    async def read(self, *, anew: bool) -> Proofs:  # noqa: ARG002  # a file is always read anew
        """Read the token, which Kubernetes replaces from time to time."""
        from kubernetes_asyncio.client import Configuration  # noqa: PLC0415  # see above
        from kubernetes_asyncio.config import ConfigException  # noqa: PLC0415
        from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader  # noqa: PLC0415

        configuration = Configuration()
        namespace = self._folder / "namespace"
        try:
            InClusterConfigLoader(
                token_filename=str(self._folder / "token"),
                cert_filename=str(self._folder / "ca.crt"),
                try_refresh_token=False,
            ).load_and_set(configuration)
            here = namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else "default"
        except (ConfigException, *_UNUSABLE) as error:
            raise CredentialsError(f"{self.name}: {str(error) or type(error).__name__}") from error
        return _proofs(configuration, here)


def _proofs(configuration: "Configuration", namespace: str) -> Proofs:
    return Proofs(
        server=str(configuration.host).rstrip("/"),
        namespace=namespace,
        authorization=str(configuration.api_key.get("BearerToken", "")).strip(),
        certificate_authority=configuration.ssl_ca_cert,
        certificate=configuration.cert_file,
        key=configuration.key_file,
        is_server_checked=bool(configuration.verify_ssl),
        server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
    )
