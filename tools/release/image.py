"""The image, built from the Dockerfile by buildah: an OCI layout for two processors, no daemon.

The build takes nothing from the network. The bases are packages of Debian (`base_image`), and the
wheels have been downloaded before, each by its hash in requirements.txt. The stage that installs
runs on this processor for both, because pip installs the wheels of any processor.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from release.base_image import PYTHON, base, base_for_building
from release.deterministic_tar import pack
from release.source import Source

MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}  # by the names that images and wheels have for them
GLIBC: Final = ("2_28", "2_27", "2_26", "2_24", "2_17")  # of manylinux, the newest first; Debian's is newer
_SHARES: Final = "import maar; print(maar.fair_shares({'cpu': 4}, {'a': {'request': {'cpu': 2}}}))"
_LIBRARIES: Final = "import cryptography.x509, httptools, kubernetes_asyncio, msgspec, numpy, uvicorn, uvloop"
TRIED: Final = (
    ("maar", "version"),
    ("maar", "scheduler", "--help"),
    ("maar", "manifests"),
    ("python3", "-c", _SHARES),
    ("python3", "-c", _LIBRARIES),
)
BUILD_TOOLS: Final = ("hatchling",)


@dataclass(frozen=True)
class Image:
    """What was built: the archive, and of each architecture its root and its wheels."""

    archive: Path
    roots: dict[str, Path]
    wheels: dict[str, Path]
    packages: list[Path]  # of Debian


class Buildah:
    """buildah with its own storage: it neither finds nor leaves anything on the machine."""

    def __init__(self, work: Path, epoch: int) -> None:
        self._epoch = epoch
        self._command = [
            "buildah", "--root", str(work / "storage"), "--runroot", str(work / "run"),
            "--storage-driver=vfs",
        ]  # fmt: skip

    def build(self, name: str, architecture: str, context: Path, file: Path, *flags: str) -> None:
        """Build an image of a Dockerfile."""
        self.run(
            "build", "--quiet", "--isolation=chroot", f"--timestamp={self._epoch}", "--pull-never",
            "--layers=false", "--identity-label=false", f"--platform=linux/{architecture}",
            f"--tag={name}", f"--file={file}", *flags, str(context),
        )  # fmt: skip

    def run(self, *arguments: str) -> str:
        """Run one of its commands."""
        ended = subprocess.run([*self._command, *arguments], check=False, capture_output=True, text=True)
        if ended.returncode:
            sys.exit(f"release: buildah {arguments[0]} failed:\n{ended.stdout}{ended.stderr}")
        return ended.stdout.strip()


def build_image(source: Source, work: Path, target: Path) -> Image:
    """Write the OCI layout with an image of each architecture, as a tar."""
    native = next(name for name, machine in MACHINES.items() if machine == os.uname().machine)
    buildah = Buildah(work, source.epoch)
    building = base_for_building(work, native, source.epoch)
    compiled, roots, wheels, made = None, dict[str, Path](), dict[str, Path](), list[str]()
    for architecture in sorted(MACHINES, key=lambda one: one != native):
        _import(buildah, work, "building", architecture, building)  # by the name only: it runs here
        _import(buildah, work, "base", architecture, base(work, architecture, source.epoch, compiled))
        compiled = compiled or work / f"base-{native}"
        wheels[architecture] = _wheels(source, work / f"wheels-{architecture}", MACHINES[architecture])
        made.append(name := f"localhost/maar:{architecture}")
        buildah.build(
            name, architecture, source.folder, source.folder / "Dockerfile",
            f"--build-arg=BUILD=localhost/building:{architecture}",
            f"--build-arg=PYTHON=localhost/base:{architecture}",
            f"--build-arg=WHEELS={' '.join(_platforms(MACHINES[architecture]))}",
            "--build-arg=FOUND_IN=/wheels", "--build-arg=OFFLINE=1",
            f"--build-arg=SOURCE_DATE_EPOCH={source.epoch}",
            f"--volume={wheels[architecture]}:/wheels:ro",
        )  # fmt: skip
        if architecture == native:
            _try(buildah, name)
        roots[architecture] = _unpacked(buildah, name, work / f"root-{architecture}")
    buildah.run("manifest", "create", "localhost/maar:all")
    for name in sorted(made):
        buildah.run("manifest", "add", "localhost/maar:all", name)
    layout = work / "layout"
    buildah.run(
        "manifest", "push", "--all", "--quiet", "localhost/maar:all", f"oci:{layout}:{source.version}"
    )
    archive = target / f"maar-{source.version}-image.tar"
    pack(layout, archive, source.epoch)
    packages = sorted(work.glob("base-*-packages/*.deb"))
    return Image(archive, roots, wheels, packages)


def _import(buildah: Buildah, work: Path, name: str, architecture: str, tar: Path) -> None:
    context = work / "import"
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir()
    os.link(tar, context / "root.tar")
    (context / "Dockerfile").write_text("FROM scratch\nADD root.tar /\n", encoding="utf-8")
    buildah.build(f"localhost/{name}:{architecture}", architecture, context, context / "Dockerfile")


def _try(buildah: Buildah, name: str) -> None:
    """Run the programs of an image, and a computation that needs its libraries."""
    container = buildah.run("from", "--pull-never", name)
    try:
        for command in TRIED:
            buildah.run("run", "--isolation=chroot", container, "--", *command)
    finally:
        buildah.run("rm", container)


def _unpacked(buildah: Buildah, name: str, into: Path) -> Path:
    """The programs of an image, for the list of what is in it and for the plugin of kubectl."""
    container = buildah.run("from", "--pull-never", name)
    try:
        root = Path(buildah.run("mount", container))
        for part in ("opt", "usr", "var/lib/dpkg"):
            shutil.copytree(root / part, into / part, symlinks=True)
    finally:
        buildah.run("rm", container)
    return into


def _platforms(machine: str) -> list[str]:
    """The tags of wheels for Linux, as pip wants to be told of them."""
    return [f"manylinux_{glibc}_{machine}" for glibc in GLIBC] + [f"manylinux2014_{machine}"]


def _wheels(source: Source, folder: Path, machine: str) -> Path:
    """Download what the image installs, each file by its hash, and what builds Maar."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        f"--dest={folder}",
    ]
    needed = ["--no-deps", "--require-hashes", f"--requirement={source.folder / 'requirements.txt'}"]
    platform = [f"--platform={tag}" for tag in _platforms(machine)]
    platform += [f"--python-version={PYTHON}", "--implementation=cp", "--only-binary=:all:"]
    subprocess.run([*pip, *needed, *platform], check=True)
    constraints = f"--constraint={source.folder / 'constraints.txt'}"
    subprocess.run([*pip, constraints, "--only-binary=:all:", *BUILD_TOOLS], check=True)
    return folder
