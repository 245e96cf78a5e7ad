"""Writes requirements.txt: what the image installs, at the versions of constraints.txt, with hashes.

The hashes are those that pip's own index says; the file names no index. They are of wheels for
Linux and every Python that Maar runs on; pip takes no other file with --require-hashes.
"""

import re
import sys
import urllib.request
from importlib.metadata import requires
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from pip._internal.models.index import PyPI

FILE: Final = Path("requirements.txt")
_PINNED: Final = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)
_LINK: Final = re.compile(r'href="[^"#]*/([^/"#]+\.whl)#sha256=([0-9a-f]{64})"')
_WITHIN_S: Final = 60.0


def versions() -> dict[str, str]:
    """What constraints.txt pins."""
    text = Path("constraints.txt").read_text(encoding="utf-8")
    return {canonicalize_name(name): version for name, version in _PINNED.findall(text)}


def needed(name: str, found: set[str]) -> set[str]:
    """The packages that one needs to run, and those that these need."""
    for line in requires(name) or ():
        requirement = Requirement(line)
        other = canonicalize_name(requirement.name)
        if (requirement.marker is None or requirement.marker.evaluate({"extra": ""})) and other not in found:
            found.add(other)
            needed(other, found)
    return found


def hashes(name: str, version: str) -> list[str]:
    """The hashes of the wheels of one version that Linux takes."""
    with urllib.request.urlopen(f"{PyPI.simple_url}/{name}/", timeout=_WITHIN_S) as answer:  # noqa: S310
        links = _LINK.findall(answer.read().decode())
    return sorted({digest for file, digest in links if _is_taken(file, version)})


def _is_taken(file: str, version: str) -> bool:
    if file.split("-")[1] != version:  # old ones have names that no standard allows
        return False
    return any(
        (tag.platform == "any" or "linux" in tag.platform)
        and (tag.interpreter.startswith("py3") or tag.abi == "abi3" or _is_new(tag.interpreter))
        for tag in parse_wheel_filename(file)[3]
    )


def _is_new(interpreter: str) -> bool:
    return interpreter.startswith("cp3") and int(interpreter.removeprefix("cp3")) >= sys.version_info.minor


def main() -> None:
    """Write the file."""
    pinned = versions()
    lines = ["# What the image installs, with hashes; tools/requirements.py writes it."]
    for name in sorted(needed("maar", set())):
        digests = [f"    --hash=sha256:{one}" for one in hashes(name, pinned[name])]
        lines.append(" \\\n".join([f"{name}=={pinned[name]}", *digests]))
    FILE.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
