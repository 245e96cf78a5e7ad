"""`make release`: everything that is published of a version, in one folder, from the last commit.

With --check it is built twice, in different folders, and compared byte for byte.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from release.bill_of_materials import of_image, of_wheel, sha256
from release.image import build_image
from release.kubectl_plugin import build_plugin
from release.provenance import BUILDER, statement
from release.source import Source, has_changes
from support.helm import find_helm

REPOSITORY: Final = Path(__file__).parents[2]
NEEDED: Final = ("buildah", "mmdebstrap")  # Debian's packages have the names of the programs
SUMS: Final = "SHA256SUMS"


def main() -> int:
    """Build a release, or build it twice and compare."""
    parser = argparse.ArgumentParser(prog="release", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="build twice, and compare byte for byte")
    parser.add_argument("--without-image", action="store_true", help="only what needs no root and no Debian")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "dist", help="where it is put")
    given = parser.parse_args()
    if not given.without_image:
        _check_programs()
    if has_changes(REPOSITORY):
        _say("there are changes that are not committed; they are not in the release")
    version = build(given.folder, has_image=not given.without_image)
    if given.check:
        with tempfile.TemporaryDirectory(prefix="release-") as name:
            build(Path(name) / "again", has_image=not given.without_image)
            differing = differences(given.folder, Path(name) / "again")
        for line in differing:
            _say(line)
        if differing:
            return 1
        _say(
            f"two builds of {version} are the same, byte for byte: {len(list(given.folder.iterdir()))} files"
        )
    _say(f"{version} is in {given.folder}")
    return 0


def build(target: Path, *, has_image: bool) -> str:
    """Write a release into a folder, in place of what is there."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="release-work-") as name:
        work = Path(name)
        source = Source.export(REPOSITORY, work / "source")
        _say(f"{source.version} from commit {source.commit[:12]}")
        materials = [source.folder / "requirements.txt", source.folder / "constraints.txt"]
        _python_packages(source, target)
        _chart(source, target)
        _manifests(source, target)
        (wheel,) = target.glob("*.whl")
        listed = of_wheel(wheel, source.folder / "requirements.txt", source.version, source.epoch)
        (target / f"maar-{source.version}.cdx.json").write_text(listed, encoding="utf-8")
        if has_image:
            materials += _image(source, work, target)
        builder = os.environ.get("RELEASE_BUILDER", BUILDER)
        text = statement(source, target.iterdir(), materials, builder)
        (target / f"maar-{source.version}.intoto.json").write_text(text, encoding="utf-8")
    sums = [f"{sha256(file)}  {file.name}\n" for file in sorted(target.iterdir())]
    (target / SUMS).write_text("".join(sums), encoding="utf-8")
    return source.version


def differences(one: Path, other: Path) -> list[str]:
    """The files that are not the same in two folders."""
    names = sorted({file.name for folder in (one, other) for file in folder.iterdir()})
    return [
        f"{name} differs between two builds of the same commit"
        for name in names
        if not (one / name).is_file()
        or not (other / name).is_file()
        or (one / name).read_bytes() != (other / name).read_bytes()
    ]


def _python_packages(source: Source, target: Path) -> None:
    _say("wheel and sdist")
    build_them = [sys.executable, "-m", "hatchling", "build", "-d", str(target), "-t", "sdist", "-t", "wheel"]
    _run(build_them, source)


def _chart(source: Source, target: Path) -> None:
    helm = find_helm()
    if helm is None:
        sys.exit("release: there is no helm; run make kubernetes, which builds it")
    _say("chart")
    _run([str(helm), "package", "deploy/chart/maar", "--destination", str(target)], source)


def _manifests(source: Source, target: Path) -> None:
    """What `maar manifests` prints, by the code of the commit."""
    code = (
        "import sys; from maar.apps.manifests import installation; print(installation(sys.argv[1]), end='')"
    )
    command = [sys.executable, "-P", "-c", code, f"maar:{source.version}"]
    text = _run(command, source, PYTHONPATH=str(source.folder / "src"))
    (target / f"maar-{source.version}-manifests.yaml").write_text(text, encoding="utf-8")


def _image(source: Source, work: Path, target: Path) -> list[Path]:
    """Write the image, its contents and the plugin of kubectl; return what was downloaded."""
    _say("image, which takes some minutes")
    image = build_image(source, work, target)
    for architecture, root in sorted(image.roots.items()):
        name = f"maar-{source.version}-image-{architecture}"
        listed = of_image(root, image.wheels[architecture], name, source.version, source.epoch)
        (target / f"{name}.cdx.json").write_text(listed, encoding="utf-8")
    _say("plugin of kubectl")
    build_plugin(source, image.roots, work, target)
    return [*image.packages, *(file for folder in image.wheels.values() for file in folder.iterdir())]


def _run(command: list[str], source: Source, **variables: str) -> str:
    settings = os.environ | {"SOURCE_DATE_EPOCH": str(source.epoch), "PYTHONHASHSEED": "0"} | variables
    ended = subprocess.run(
        command, cwd=source.folder, env=settings, check=False, capture_output=True, text=True
    )
    if ended.returncode:
        sys.exit(f"release: {command[0]} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def _check_programs() -> None:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0:
        sys.exit("release: only root can build the image; or run it with --without-image")
    if missing:
        sys.exit(f"release: install Debian's {' and '.join(missing)}, or run it with --without-image")


def _say(text: str) -> None:
    print(f"release: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
