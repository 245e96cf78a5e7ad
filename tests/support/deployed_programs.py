"""Maar's programs as its deployments start them, but as processes of this machine."""

import json
import sys
from pathlib import Path
from typing import Final

from support.control_plane import ControlPlane
from support.kubeconfigs import changed, with_token

PROGRAMS: Final = ("scheduler", "controllers", "webhooks")
_MAAR: Final = str(Path(sys.executable).with_name("maar"))
_IN: Final = ("--namespace", "maar-system")


def deployed_command(plane: ControlPlane, program: str, port: int) -> list[str]:
    """How a deployment starts its program, with another port and its account's token in a file."""
    found = plane.kubectl("get", "deployment", f"maar-{program}", *_IN, "-o", "json").stdout
    pod = json.loads(found)["spec"]["template"]["spec"]
    token = plane.kubectl("create", "token", pod["serviceAccountName"], *_IN).stdout
    kubeconfig = changed(plane.kubeconfig, plane.folder / program, with_token(token))
    listen = f"--listen=127.0.0.1:{port}"
    args = [listen if one.startswith("--listen=") else one for one in pod["containers"][0]["args"]]
    return [_MAAR, *args, "--kubeconfig", str(kubeconfig)]
