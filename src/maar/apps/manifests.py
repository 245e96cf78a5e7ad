"""What installs Maar on a cluster: the objects of the chart, in an order in which they can be applied."""

import re
from importlib.resources import files
from typing import Final

REPLICAS: Final = 2

# The namespace comes first, definitions before what speaks of them, and whoever has to be asked last.
_FOLDERS: Final = ("system", "crds", "rbac", "policies", "programs", "console", "webhooks")
_CONSOLE: Final = "console"
_SSH: Final = "controllers-ssh.yaml"  # the right to Secrets of all namespaces
_OBJECTS: Final = "deploy/chart/maar/objects"
_IMAGE: Final = re.compile(r"^( *image:) maar$", re.MULTILINE)
_WEBHOOKS: Final = "programs/webhooks.yaml"
_LAST_ARGUMENT: Final = re.compile(r"^( *)- --log-format=json\n", re.MULTILINE)
_REPLICAS: Final = re.compile(r"^( *replicas:) \d+$", re.MULTILINE)


def installation(
    image: str, replicas: int = REPLICAS, *, has_console: bool = False, has_ssh: bool = True
) -> str:
    """Everything as one YAML stream; its comments are for whoever reads what they apply."""
    folders = [folder for folder in _FOLDERS if has_console or folder != _CONSOLE]
    texts = {name: text for folder in folders for name, text in _texts(folder)}
    if not has_ssh:
        del texts[f"rbac/{_SSH}"]
        texts[_WEBHOOKS] = _LAST_ARGUMENT.sub(r"\g<0>\1- --disable-job-plugin=ssh\n", texts[_WEBHOOKS])
    stream = "---\n".join(texts.values())
    return _REPLICAS.sub(rf"\1 {replicas}", _IMAGE.sub(rf"\1 {image}", stream))


def _texts(folder: str) -> list[tuple[str, str]]:
    """The files of a folder, each by its path."""
    found = (file for file in (files("maar") / _OBJECTS / folder).iterdir() if file.name.endswith(".yaml"))
    return [
        (f"{folder}/{file.name}", file.read_text(encoding="utf-8"))
        for file in sorted(found, key=lambda file: file.name)
    ]
