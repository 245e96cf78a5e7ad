"""`maar console`: a web page over a cluster."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

import typer
import uvloop

from maar.cli.cluster.access import Access
from maar.cli.daemons import LogFormatOption
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups
from maar.cli.up import data_folder


@with_groups
def console(  # noqa: PLR0913  # each is a flag
    *,
    access: Access,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than loopback let other machines in.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Where to listen; 0 takes a free port.  [default: 7480, or a free port]"
        ),
    ] = None,
    login: Annotated[
        Literal["key", "token"],
        typer.Option(
            help="How people get in: with the key that is printed, and see what the kubeconfig may read, or"
            " each with a bearer token, and see what that may read."
        ),
    ] = "key",
    key_file: Annotated[
        Path | None,
        typer.Option(help="Keep the printed key in this file, so that the address stays the same."),
    ] = None,
    public_url: Annotated[
        str,
        typer.Option(help="How browsers reach it, where that is not HOST:PORT: https://maar.example.com."),
    ] = "",
    tls_certificate: Annotated[
        Path | None, typer.Option(help="Serve HTTPS with this certificate, in PEM, with --tls-key.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key of the certificate, in PEM.")] = None,
    allow_writes: Annotated[
        bool,
        typer.Option("--allow-writes", help="Let viewers apply changes, as far as their own rights permit."),
    ] = False,
    history: Annotated[
        Path | None,
        typer.Option(
            help="The file that a day of shares and waits is kept in.  [default: one for each cluster, in the"
            " user's data folder]"
        ),
    ] = None,
    no_history: Annotated[bool, typer.Option("--no-history", help="Keep no history.")] = False,
    prometheus: Annotated[
        str, typer.Option(metavar="URL", help="Read the history from this Prometheus instead of a file.")
    ] = "",
    log_format: LogFormatOption = "text",
) -> None:
    """Serve a web page over a cluster: its queues, jobs and nodes, live, and what if."""
    from maar.apps.console import program as app  # noqa: PLC0415  # a server takes long to import
    from maar.apps.console.key_file import KeyFileError  # noqa: PLC0415
    from maar.apps.console.settings import ConsoleSettings  # noqa: PLC0415
    from maar.apps.daemons.logs import set_up_logs  # noqa: PLC0415
    from maar.kube.sources import CredentialsError  # noqa: PLC0415
    from maar.serving.listening import PortTakenError  # noqa: PLC0415

    if key_file is not None and login != "key":
        raise typer.BadParameter("--key-file goes with --login key; with tokens there is no key")
    if (tls_certificate is None) != (tls_key is None):
        raise typer.BadParameter("--tls-certificate and --tls-key: give both, or neither")
    settings = ConsoleSettings(
        host=host,
        port=port,
        kubeconfig=access.kubeconfig,
        context=access.context,
        login=login,
        key_file=key_file,
        public_url=_public(public_url),
        certificate=tls_certificate,
        certificate_key=tls_key,
        allows_writes=allow_writes,
        history=None if no_history else history,
        history_folder=None if no_history else data_folder() / "console",
        prometheus=_of_prometheus(prometheus),
    )
    set_up_logs(log_format)
    try:
        uvloop.run(app.run(settings, _print_started))
    except (app.ConsoleError, KeyFileError, PortTakenError, CredentialsError) as error:
        raise CommandError(str(error)) from None


def _public(url: str) -> str:
    """The address that browsers open, without a path: the console is at the root of its server."""
    parts = _parts(url)
    if url and (
        parts is None or parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
    ):
        raise typer.BadParameter(f"--public-url {url}: write https://HOST or https://HOST:PORT, no path")
    return url


def _of_prometheus(url: str) -> str:
    """The address of a Prometheus, which may be below a path."""
    if url and _parts(url) is None:
        raise typer.BadParameter(f"--prometheus {url}: write http://HOST:PORT, or with a path behind it")
    return url


def _parts(url: str) -> SplitResult | None:
    """The parts of an address of HTTP; None where it is none."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_good else None


def _print_started(address: str) -> None:
    typer.echo(f"maar console: open {address}")
    typer.echo("Ctrl-C stops it.")
