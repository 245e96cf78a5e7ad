"""`maar manifests`: everything that installs Maar on a cluster, for kubectl apply."""

import re
from typing import Annotated, Final

import typer

from maar.apps.manifests import REPLICAS, installation
from maar.apps.version import __version__
from maar.cli.failure import CommandError

# A registry with its port, a path, a tag and a digest: whatever a container runtime takes, and nothing else,
# since it becomes part of YAML.
_IMAGE: Final = re.compile(r"[a-z0-9][\w.-]*(:\d+)?(/[\w.-]+)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?", re.ASCII)


def manifests(
    image: Annotated[
        str, typer.Option(help="The image that runs Maar, as nodes can pull it.")
    ] = f"maar:{__version__}",
    replicas: Annotated[
        int,
        typer.Option(min=1, help="The replicas of each deployment."),
    ] = REPLICAS,
    console: Annotated[
        bool, typer.Option("--console", help="The console too: people log in with a token of their own.")
    ] = False,
    without_ssh: Annotated[
        bool,
        typer.Option(
            "--without-ssh",
            help="Without the job plugin ssh, and so without the right to read and write Secrets everywhere.",
        ),
    ] = False,
) -> None:
    """Print everything an administrator applies: maar manifests | kubectl apply -f -."""
    if _IMAGE.fullmatch(image) is None:
        raise CommandError(f"--image {image}: no name of an image; write for example team/maar:{__version__}")
    typer.echo(installation(image, replicas, has_console=console, has_ssh=not without_ssh), nl=False)
