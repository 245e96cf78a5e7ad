"""The webhook configurations of the cluster: their address and CA bundle, written and kept up to date."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, cast

from maar.core.admission.plain import at, list_at, text_at
from maar.core.admission.request import Json
from maar.core.model.kinds import plain
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Conflict, Done, Gone
from maar.kube.paths import ResourcePath
from maar.kube.write import get, patch
from maar.parsing.yaml_documents import documents

_VERSION: Final = "admissionregistration.k8s.io/v1"
_PLACES: Final = {
    "MutatingWebhookConfiguration": ResourcePath(_VERSION, "mutatingwebhookconfigurations", namespaced=False),
    "ValidatingWebhookConfiguration": ResourcePath(
        _VERSION, "validatingwebhookconfigurations", namespaced=False
    ),
}
_REACHED_BY: Final = ("url", "service", "caBundle")
_SCHEDULER: Final = "scheduler-name"
_INSTALL: Final = "maar manifests | kubectl apply -f -"


@dataclass(frozen=True)
class Registration:
    """A webhook configuration as Maar ships it."""

    place: ResourcePath
    name: str
    webhooks: tuple[Json, ...]


@dataclass(frozen=True)
class Wanted:
    """What every configuration needs: the address, the CA, and the scheduler names of reviewed pods."""

    scheduler_names: tuple[str, ...]
    url: str = ""  # empty where a Service leads to us

    def of(self, webhook: Json, trusted: bytes) -> Json:
        """The part of a webhook that we keep as it should be."""
        service = at(webhook, "clientConfig", "service")
        url = f"{self.url.rstrip('/')}{text_at(service, 'path')}"
        part: Json = {
            "name": webhook["name"],
            "clientConfig": {
                "url": url if self.url else None,
                "service": None if self.url else service,
                "caBundle": base64.b64encode(trusted).decode(),
            },
        }
        if any(text_at(one, "name") == _SCHEDULER for one in list_at(webhook, "matchConditions")):
            names = ", ".join(f"'{name}'" for name in self.scheduler_names)
            expression = f"object.spec.schedulerName in [{names}]"
            part["matchConditions"] = [{"name": _SCHEDULER, "expression": expression}]
        return part


def registrations() -> tuple[Registration, ...]:
    """The configurations that Maar ships."""
    folder = files("maar") / "deploy" / "webhooks"
    texts = [file.read_bytes() for file in folder.iterdir() if file.name.endswith(".yaml")]
    return tuple(
        Registration(
            _PLACES[text_at(one, "kind")],
            text_at(one, "metadata", "name"),
            tuple(cast(list[Json], list_at(one, "webhooks"))),
        )
        for text in texts
        for one in documents(text)
    )


def service_hosts() -> tuple[str, ...]:
    """The names by which an API server reaches the Service of the configurations."""
    found = (at(hook, "clientConfig", "service") for one in registrations() for hook in one.webhooks)
    names = {f"{text_at(one, 'name')}.{text_at(one, 'namespace')}.svc" for one in found}
    return tuple(sorted(names))


async def register(server: ApiServer, wanted: Wanted, trusted: bytes) -> list[str]:
    """Put right what is different in the cluster's configurations; what cannot be comes back in sentences."""
    problems: list[str] = []
    missing: list[str] = []
    for one in registrations():
        found = await get(server, one.place, one.name)
        if isinstance(found, Done):
            parts = list(_different(one, plain(found.body), wanted, trusted))
            if not parts:
                continue
            # Only where it is still as we saw it: what somebody else has just taken out does not come back.
            version = text_at(plain(found.body), "metadata", "resourceVersion")
            change = {"metadata": {"resourceVersion": version}, "webhooks": parts}
            found = await patch(server, one.place, one.name, change, "strategic-merge")
        if isinstance(found, Gone):
            missing.append(one.name)
        elif not isinstance(found, Done | Conflict):  # another replica was faster, or the next look does it
            problems.append(f"webhook configuration {one.name}: {found.message}")
    if missing:
        what = (
            f"no request is reviewed by {', '.join(missing)}: the cluster has no such webhook configuration"
        )
        problems.append(f"{what}; {_INSTALL}")
    return problems


def _different(one: Registration, there: object, wanted: Wanted, trusted: bytes) -> Iterator[Json]:
    """What has to be changed in the webhooks that the cluster has; one that it lacks is not ours to add."""
    found = {text_at(hook, "name"): hook for hook in list_at(there, "webhooks")}
    for webhook in one.webhooks:
        part, hook = wanted.of(webhook, trusted), found.get(str(webhook["name"]))
        if hook is not None and not _holds(hook, part):
            yield part


def _holds(hook: object, part: Json) -> bool:
    reached = {name: at(hook, "clientConfig", name) for name in _REACHED_BY}
    conditions = list_at(hook, "matchConditions")
    return reached == part["clientConfig"] and all(
        one in conditions for one in list_at(part, "matchConditions")
    )
