"""What a wheel or an image is made of, in CycloneDX, written by the project's own library."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final
from uuid import UUID, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.utils import canonicalize_name, parse_wheel_filename

SITE: Final = "opt/maar"
PACKAGES: Final = "var/lib/dpkg/status.d"
DISTRIBUTION: Final = "trixie"
_FIELD: Final = re.compile(r"^(Package|Version|Architecture): (\S+)$", re.MULTILINE)
_PINNED: Final = re.compile(r"^([\w.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)", re.MULTILINE)
_NAMESPACE: Final = UUID("7d9f5b5e-4f0e-5c5b-9f5e-6d616172626d")  # of the serial numbers of these lists


def of_wheel(wheel: Path, requirements: Path, version: str, epoch: int) -> str:
    """What pip installs with the wheel, at the versions that were tested."""
    found = _PINNED.findall(requirements.read_text(encoding="utf-8"))
    needed = [_python(name, number) for name, number, _ in found]
    return _text(_python("maar", version, wheel), needed, epoch)


def of_image(root: Path, wheels: Path, name: str, version: str, epoch: int) -> str:
    """The packages of Debian and of Python that are in the files of an image."""
    files: dict[str, Path] = {
        canonicalize_name(parse_wheel_filename(file.name)[0]): file for file in wheels.glob("*.whl")
    }
    installed = distributions(path=[str(root / SITE)])
    components = [_installed(one, files) for one in installed]
    components += [_debian(file.read_text(encoding="utf-8")) for file in (root / PACKAGES).iterdir()]
    image = Component(name=name, version=version, type=ComponentType.CONTAINER, bom_ref=name)
    return _text(image, components, epoch)


def _installed(one: Distribution, files: dict[str, Path]) -> Component:
    name = canonicalize_name(one.metadata["Name"])
    return _python(name, one.version, files.get(name))


def _python(name: str, version: str, file: Path | None = None) -> Component:
    url = PackageURL("pypi", None, canonicalize_name(name), version)
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=sha256(file))] if file else []
    return Component(
        name=name, version=version, type=ComponentType.LIBRARY, purl=url, bom_ref=str(url), hashes=hashes
    )


def _debian(control: str) -> Component:
    fields = dict(_FIELD.findall(control))
    qualifiers = {"arch": fields["Architecture"], "distro": DISTRIBUTION}
    url = PackageURL("deb", "debian", fields["Package"], fields["Version"], qualifiers)
    return Component(
        name=fields["Package"],
        version=fields["Version"],
        type=ComponentType.LIBRARY,
        purl=url,
        bom_ref=str(url),
    )


def _text(about: Component, components: Iterable[Component], epoch: int) -> str:
    listed = sorted(components, key=lambda one: str(one.bom_ref.value))
    bom = Bom(components=listed)
    bom.metadata.component = about
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    bom.register_dependency(about, listed)
    content = "\n".join([str(about.bom_ref.value), *(str(one.bom_ref.value) for one in listed)])
    bom.serial_number = uuid5(_NAMESPACE, content)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def sha256(file: Path) -> str:
    """The digest of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
