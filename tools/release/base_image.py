"""The base of the image: Python and what it needs, from Debian's packages, without a shell.

mmdebstrap resolves, downloads, verifies and unpacks the packages. None of their scripts runs, so
that the base for another processor is made in the same way. What Python needs of what the scripts
do is done here: certificates in one file, compiled modules, users.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from release.deterministic_tar import pack

SUITE: Final = "trixie"
PYTHON: Final = "3.13"
PACKAGES: Final = ("base-files", "netbase", "ca-certificates", "libstdc++6", f"python{PYTHON}")
FOR_BUILDING: Final = ("dash", "coreutils", "python3-pip")
LIBRARY: Final = f"usr/lib/python{PYTHON}"
KEPT_PROGRAMS: Final = frozenset({f"python{PYTHON}"})
# Nothing that runs here reads them. Each package keeps its copyright.
LEFT_OUT: Final = (
    "dev/*", "etc/apt", "etc/fstab", "etc/hostname", "etc/resolv.conf", "usr/share/base-files",
    "usr/share/bash-completion", "usr/share/bug", "usr/share/debconf", "usr/share/info",
    "usr/share/lintian", "usr/share/locale", "usr/share/man", "usr/share/perl5", "usr/share/pixmaps",
    "var/cache", "var/lib/apt", "var/log", f"{LIBRARY}/ensurepip", f"{LIBRARY}/idlelib",
    f"{LIBRARY}/pydoc_data", f"{LIBRARY}/turtledemo",
)  # fmt: skip
USERS: Final = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nmaar:x:65532:65532:maar:/nonexistent:/sbin/nologin\n",
    "etc/group": "root:x:0:\nmaar:x:65532:\n",
}


def base(work: Path, architecture: str, epoch: int, compiled: Path | None) -> Path:
    """Write the tar of a base; it takes compiled modules over from the root of another."""
    root = work / f"base-{architecture}"
    _unpack(root, architecture, PACKAGES, epoch)
    _write_package_list(root)
    _leave_out(root)
    _write_certificates(root)
    for name, text in USERS.items():
        (root / name).write_text(text, encoding="utf-8")
    (root / "usr/bin/python3").symlink_to(f"python{PYTHON}")
    _add_compiled(root, compiled)
    return _packed(root, epoch)


def base_for_building(work: Path, architecture: str, epoch: int) -> Path:
    """Write the tar of the same Python with pip and a shell, for this processor."""
    root = work / f"building-{architecture}"
    _unpack(root, architecture, (*PACKAGES, *FOR_BUILDING), epoch)
    _remove(root, "dev/*")  # a container gets its own
    _write_certificates(root)  # pip does not start without
    return _packed(root, epoch)


def _unpack(root: Path, architecture: str, packages: tuple[str, ...], epoch: int) -> None:
    command = [
        "mmdebstrap", "--quiet", "--variant=extract", "--format=directory", f"--architectures={architecture}",
        f"--include={','.join(packages)}", '--extract-hook=cp -r "$1"/var/cache/apt/archives "$1"/packages',
        SUITE, str(root),
    ]  # fmt: skip
    settings = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SOURCE_DATE_EPOCH": str(epoch)}
    subprocess.run(command, check=True, env=settings)
    (root / "packages").rename(packages_of(root))


def packages_of(root: Path) -> Path:
    """Where the packages are that a root was unpacked from."""
    return root.with_name(f"{root.name}-packages")


def _write_package_list(root: Path) -> None:
    """Say what is in it where scanners of images look."""
    place = root / "var/lib/dpkg/status.d"
    place.mkdir(parents=True)
    for package in sorted(packages_of(root).glob("*.deb")):
        text = subprocess.run(
            ["dpkg-deb", "--field", package], check=True, capture_output=True, text=True
        ).stdout
        (place / package.name.partition("_")[0]).write_text(text, encoding="utf-8")


def _leave_out(root: Path) -> None:
    for pattern in LEFT_OUT:
        _remove(root, pattern)
    for folder in ("usr/bin", "usr/sbin"):
        for program in (root / folder).iterdir():
            if program.name not in KEPT_PROGRAMS:
                program.unlink()
    for file in (root / "usr/share/doc").rglob("*"):
        if file.name != "copyright" and not file.is_dir():
            file.unlink()


def _remove(root: Path, pattern: str) -> None:
    for path in list(root.glob(pattern)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _write_certificates(root: Path) -> None:
    found = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    bundle.write_bytes(b"".join(one.read_bytes() for one in found))
    (root / "usr/lib/ssl").mkdir(exist_ok=True)
    default = root / "usr/lib/ssl/cert.pem"
    if not default.is_symlink():
        default.symlink_to("/etc/ssl/certs/ca-certificates.crt")


def _add_compiled(root: Path, compiled: Path | None) -> None:
    """Compile the standard library, or copy what has been compiled from the same sources."""
    if compiled is None:
        command = ["chroot", str(root), f"/usr/bin/python{PYTHON}", "-m", "compileall", "-q"]
        command += ["--invalidation-mode", "unchecked-hash", f"/{LIBRARY}"]
        subprocess.run(
            command, check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONHASHSEED": "0"}
        )
        return
    for folder in sorted((compiled / LIBRARY).rglob("__pycache__")):
        place = folder.relative_to(compiled)
        for file in folder.iterdir():
            source = place.parent / f"{file.name.partition('.')[0]}.py"
            if (root / source).exists() and _same(root / source, compiled / source):
                (root / place).mkdir(exist_ok=True)
                shutil.copyfile(file, root / place / file.name)


def _same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def _packed(root: Path, epoch: int) -> Path:
    target = root.with_suffix(".tar")
    pack(root, target, epoch)
    return target
