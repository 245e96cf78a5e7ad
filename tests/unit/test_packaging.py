"""What an installed Maar carries: types, the manifests and its programs."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ASSETS = "src/maar/apps/console/assets"


def test_the_wheel_carries_types_manifests_and_programs(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    wheel = zipfile.ZipFile(next(tmp_path.glob("maar-*.whl")))
    names = set(wheel.namelist())
    crds = {f"maar/deploy/crds/{file.name}" for file in (ROOT / "deploy/crds").glob("*.yaml")}
    assert crds
    assert {"maar/py.typed", *crds} <= names
    assets = {f"maar/apps/console/assets/{file.name}" for file in (ROOT / ASSETS).iterdir()}
    assert "maar/apps/console/assets/index.html" in assets <= names
    programs = wheel.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert [line.split(" = ")[0] for line in programs.splitlines()[1:] if line] == [
        "kubectl-maar",
        "maar",
        "vcancel",
        "vcctl",
        "vjobs",
        "vresume",
        "vsub",
        "vsuspend",
    ]
