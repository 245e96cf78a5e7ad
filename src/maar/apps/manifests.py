"""What installs Maar on a cluster: the objects of the chart, in an order in which they can be applied."""

import re
from importlib.resources import files
from typing import Final

REPLICAS: Final = 2

# The namespace comes first, definitions before what speaks of them, and whoever has to be asked last.
_FOLDERS: Final = ("system", "crds", "rbac", "programs", "console", "webhooks")
_CONSOLE: Final = "console"
_OBJECTS: Final = "deploy/chart/maar/objects"
_IMAGE: Final = re.compile(r"^( *image:) maar$", re.MULTILINE)
_REPLICAS: Final = re.compile(r"^( *replicas:) \d+$", re.MULTILINE)


def installation(image: str, replicas: int = REPLICAS, *, has_console: bool = False) -> str:
    """Everything as one YAML stream; its comments are for whoever reads what they apply."""
    folders = [folder for folder in _FOLDERS if has_console or folder != _CONSOLE]
    stream = "---\n".join(text for folder in folders for text in _texts(folder))
    return _REPLICAS.sub(rf"\1 {replicas}", _IMAGE.sub(rf"\1 {image}", stream))


def _texts(folder: str) -> list[str]:
    found = (file for file in (files("maar") / _OBJECTS / folder).iterdir() if file.name.endswith(".yaml"))
    return [file.read_text(encoding="utf-8") for file in sorted(found, key=lambda file: file.name)]
