"""What a release is built with: the same bytes from the same files, and lists that say what is in it."""

import gzip
import json
import os
import tarfile
from pathlib import Path
from typing import Final

import pytest
import yaml

from maar import __version__
from release.__main__ import differences
from release.base_image import PYTHON
from release.bill_of_materials import of_image, of_wheel, sha256
from release.deterministic_tar import pack
from release.image import MACHINES
from release.kubectl_plugin import LIBRARIES, LOADERS, PLACEHOLDER, build_plugin
from release.provenance import BUILDER, statement
from release.source import Source

ROOT: Final = Path(__file__).parents[2]
EPOCH: Final = 1_793_000_000
CONTROL: Final = "Package: zlib1g\nSource: zlib\nVersion: 1:1.3.1\nArchitecture: arm64\nDepends: libc6\n"


def files(folder: Path, names: list[str], time: float) -> Path:
    """A folder with files of a time, made in an order."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text(name, encoding="utf-8")
        os.utime(folder / name, (time, time))
    (folder / "link").symlink_to("a")
    return folder


@pytest.mark.parametrize("ending", [".tar", ".tar.gz"])
def test_an_archive_has_the_same_bytes_whenever_it_is_made(tmp_path: Path, ending: str) -> None:
    packed = [tmp_path / f"{name}{ending}" for name in ("one", "other", "more")]
    pack(files(tmp_path / "1", ["a", "b"], 1.0), packed[0], EPOCH)
    pack(files(tmp_path / "2", ["b", "a"], 2.0), packed[1], EPOCH)
    pack(files(tmp_path / "3", ["a", "c"], 1.0), packed[2], EPOCH)
    assert packed[0].read_bytes() == packed[1].read_bytes() != packed[2].read_bytes()
    with tarfile.open(packed[0]) as archive:
        assert [(one.name, one.mtime, one.uid) for one in archive] == [
            ("a", EPOCH, 0),
            ("b", EPOCH, 0),
            ("link", EPOCH, 0),
        ]


def test_an_archive_has_no_devices(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValueError, match="neither a file nor a folder nor a link"):
        pack(folder, tmp_path / "root.tar", EPOCH)


def test_files_that_differ_or_are_missing_are_named(tmp_path: Path) -> None:
    one, other = files(tmp_path / "1", ["a", "b"], 1.0), files(tmp_path / "2", ["a", "c"], 1.0)
    (other / "a").write_text("another")
    assert [line.partition(" ")[0] for line in differences(one, other)] == ["a", "b", "c", "link"]
    assert differences(one, one) == []


def test_the_list_of_the_wheel_has_what_it_installs(tmp_path: Path) -> None:
    wheel = tmp_path / "maar.whl"
    wheel.write_bytes(b"wheel")
    requirements = ROOT / "requirements.txt"
    text = of_wheel(wheel, requirements, __version__, EPOCH)
    assert text == of_wheel(wheel, requirements, __version__, EPOCH)
    listed = json.loads(text)
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": sha256(wheel)}]
    pinned = [line.split(" ")[0] for line in requirements.read_text().splitlines() if "==" in line]
    assert {f"{one['name']}=={one['version']}" for one in listed["components"]} == set(pinned)


def test_the_list_of_an_image_has_packages_of_debian_and_of_python(tmp_path: Path) -> None:
    root, wheels = tmp_path / "root", tmp_path / "wheels"
    for folder in (wheels, root / "var/lib/dpkg/status.d", root / "opt/maar/numpy-2.0.dist-info"):
        folder.mkdir(parents=True)
    (root / "var/lib/dpkg/status.d/zlib1g").write_text(CONTROL)
    metadata = "Metadata-Version: 2.1\nName: numpy\nVersion: 2.0\n"
    (root / "opt/maar/numpy-2.0.dist-info/METADATA").write_text(metadata)
    (wheels / "numpy-2.0-cp313-cp313-manylinux_2_28_aarch64.whl").write_bytes(b"numpy")
    listed = json.loads(of_image(root, wheels, "image", __version__, EPOCH))
    assert [one["purl"] for one in listed["components"]] == [
        "pkg:pypi/numpy@2.0",
        "pkg:deb/debian/zlib1g@1:1.3.1?arch=arm64&distro=trixie",
    ]
    assert listed["components"][0]["hashes"]


def test_the_provenance_names_the_commit_and_every_file(tmp_path: Path) -> None:
    source = Source(ROOT, "a" * 40, EPOCH, __version__)
    made = files(tmp_path / "made", ["a", "b"], 1.0)
    used = files(tmp_path / "used", ["c", "a"], 1.0)
    found = json.loads(statement(source, [made / "b", made / "a"], used.iterdir(), BUILDER))
    assert [one["name"] for one in found["subject"]] == ["a", "b"]
    assert found["subject"][0]["digest"] == {"sha256": sha256(made / "a")}
    commit, *materials = found["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert commit["digest"] == {"gitCommit": "a" * 40}
    assert [one["name"] for one in materials] == ["a", "c", "link"]


def test_the_plugin_of_kubectl_is_named_by_its_digest_and_no_address(tmp_path: Path) -> None:
    roots = {}
    for architecture in MACHINES:
        roots[architecture] = tmp_path / architecture
        for folder in ("usr/bin", "opt/maar/bin", LIBRARIES[architecture]):
            (roots[architecture] / folder).mkdir(parents=True)
        (roots[architecture] / LIBRARIES[architecture] / LOADERS[architecture]).touch()
    target = tmp_path / "out"
    target.mkdir()
    source = Source(ROOT, "a" * 40, EPOCH, __version__)
    *archives, manifest = build_plugin(source, roots, tmp_path, target)
    platforms = yaml.safe_load(manifest.read_text())["spec"]["platforms"]
    assert [one["selector"]["matchLabels"]["arch"] for one in platforms] == ["amd64", "arm64"]
    for archive, platform in zip(archives, platforms, strict=True):
        assert platform["uri"] == f"{PLACEHOLDER}/{archive.name}"
        assert platform["sha256"] == sha256(archive)
        with tarfile.open(fileobj=gzip.open(archive)) as packed:
            assert packed.getmember(platform["bin"]).mode == 0o755


def test_the_image_has_the_python_of_the_dockerfile() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert text.count(f"=python:{PYTHON}-slim\n") == 2
