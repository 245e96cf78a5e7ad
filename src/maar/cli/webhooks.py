"""`maar webhooks`: admission for a cluster's API server."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
import uvloop

from maar.cli.admission_options import AdmissionFlags
from maar.cli.cluster.access import Access
from maar.cli.daemons import ListenOption, LogFormatOption
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups

_PORT: Final = 8443
_ANY: Final = "0.0.0.0"  # noqa: S104  # API servers call from other machines
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@with_groups
def webhooks(  # noqa: PLR0913  # each is a flag
    *,
    url: Annotated[
        str,
        typer.Option(
            help="Where API servers reach this process without a Service, such as https://127.0.0.1:8443."
        ),
    ] = "",
    host: Annotated[
        str,
        typer.Option(help="The address to listen on; without it, that of a --url on loopback, or 0.0.0.0."),
    ] = "",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Where to listen; without it, the port of --url, or 8443."),
    ] = None,
    admission: AdmissionFlags,
    scheduler_name: Annotated[
        list[str] | None,
        typer.Option(help="The schedulerName of the pods to review; volcano unless set; may be repeated."),
    ] = None,
    cluster_user: Annotated[
        list[str] | None,
        typer.Option(
            help="Who else counts quotas and empties namespaces: the controller manager's user, where it"
            " has an unusual name; may be repeated."
        ),
    ] = None,
    certificate_validity: Annotated[
        str, typer.Option(help="How long a certificate holds; it is renewed when a third is left.")
    ] = "2160h",
    client_ca: Annotated[
        Path | None,
        typer.Option(
            help="Answer only clients with a certificate that an authority in this file (PEM) has signed.",
        ),
    ] = None,
    client_name: Annotated[
        list[str] | None,
        typer.Option(
            help="With --client-ca: a common name that such a certificate may have; may be repeated."
        ),
    ] = None,
    listen: ListenOption = "",
    log_format: LogFormatOption = "text",
    access: Access,
) -> None:
    """Serve admission webhooks: queues, pod groups, jobs, commands, and pods of Maar's scheduler."""
    # Imported here: a server takes longer to import than most commands take to run.
    from maar.apps.daemons.health import BadAddressError  # noqa: PLC0415
    from maar.apps.daemons.logs import set_up_logs  # noqa: PLC0415
    from maar.apps.webhooks import program as app  # noqa: PLC0415
    from maar.kube.certificates import CertificatesError  # noqa: PLC0415
    from maar.kube.sources import CredentialsError  # noqa: PLC0415
    from maar.serving.client_certificates import BadAuthorityError  # noqa: PLC0415
    from maar.serving.listening import PortTakenError  # noqa: PLC0415

    if client_name and client_ca is None:
        raise CommandError(
            "--client-name needs --client-ca, the file of the authorities that sign the certificates"
        )
    url_host, url_port = _place(url)
    settings = app.WebhookSettings(
        host=host or url_host or _ANY,
        port=(url_port or _PORT) if port is None else port,
        url=url,
        listen=listen,
        kubeconfig=access.kubeconfig,
        context=access.context,
        client_ca=client_ca,
        client_names=frozenset(client_name or ()),
        valid_for=_duration(certificate_validity),
        options=replace(
            admission.options(),
            scheduler_names=_names(scheduler_name or ["volcano"]),
            cluster_users=tuple(cluster_user or ()),
        ),
    )
    set_up_logs(log_format)
    try:
        uvloop.run(app.webhooks(settings, _print_started))
    except (BadAddressError, BadAuthorityError, PortTakenError, CertificatesError, CredentialsError) as error:
        raise CommandError(str(error)) from None


def _place(url: str) -> tuple[str, int | None]:
    """Where to listen for what is sent to an address: on loopback or everywhere."""
    if not url:
        return "", None
    try:
        parts = urlsplit(url)
        place = parts.hostname, parts.port or 443
    except ValueError:
        place = None, 0
    if place[0] is None or parts.scheme != "https" or parts.path.strip("/") or parts.query:
        raise CommandError(f"--url {url}: write https://HOST:PORT, without a path; API servers take no other")
    return ("127.0.0.1" if place[0] in ("localhost", "127.0.0.1") else ""), place[1]


def _names(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if _NAME.fullmatch(name) is None:  # it becomes part of an expression in the webhook configuration
            raise CommandError(f"--scheduler-name {name}: write small letters, digits, - and . only")
    return tuple(names)


def _duration(text: str) -> timedelta:
    from maar.core.model.durations import BadDurationError, seconds  # noqa: PLC0415

    try:
        validity = timedelta(seconds=seconds(text))
    except BadDurationError as error:
        raise CommandError(f"--certificate-validity: {error}") from None
    if not timedelta(seconds=1) <= validity <= timedelta(days=397):
        raise CommandError(f"--certificate-validity {text}: write at least 1s and at most 9528h")
    return validity


def _print_started(url: str) -> None:
    typer.echo(f"maar webhooks serves at {url}")
