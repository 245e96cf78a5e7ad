"""`make kubernetes`: builds the programs of a real control plane, and helm, into cache folders, once."""

import sys
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from go_programs import BuildError, Building, unfinished
from support.helm import HELM, find_helm, helm_folder
from support.programs import KUBERNETES, KWOK, MODULE, find_binaries, folder

BUILDING: Final = Building("kubernetes", disk_gb=6)
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


def main() -> int:
    """Build what is not there yet and say where it is."""
    try:
        if find_binaries() is None or find_helm() is None:
            with BUILDING.alone():
                if find_binaries() is None:
                    _build(folder())
                if find_helm() is None:
                    _build_helm(helm_folder())
    except BuildError as error:
        print(f"kubernetes: {error}", file=sys.stderr)
        return 1
    BUILDING.say(f"ready in {folder()}")
    return 0


def _build(target: Path) -> None:
    """The control plane."""
    started = time.monotonic()
    go = BUILDING.go()
    BUILDING.say(
        f"building Kubernetes {KUBERNETES} with {go}: ten to twenty minutes on two cores, one the next time"
    )
    with unfinished(target) as folder_of_programs:
        for name, package in PACKAGES.items():
            BUILDING.step(name, [go, "build", *FLAGS, "-o", str(folder_of_programs / name), package], MODULE)
        BUILDING.step("kwok", [go, "install", *FLAGS, KWOK_PACKAGE], MODULE, GOBIN=str(folder_of_programs))
    BUILDING.say(f"all of it in {time.monotonic() - started:.0f} s")


def _build_helm(target: Path) -> None:
    """What people install Maar with; in a folder of its own, so that its version changes nothing else."""
    go = BUILDING.go()
    BUILDING.say(f"building helm {HELM} with {go}: about five minutes on two cores")
    with unfinished(target) as folder_of_programs:
        BUILDING.step("helm", [go, "install", *FLAGS, HELM_PACKAGE], MODULE, GOBIN=str(folder_of_programs))


if __name__ == "__main__":
    sys.exit(main())
