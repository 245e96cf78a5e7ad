"""Writes tests/kept/v<version>: what this version of Maar keeps, and later ones must still open.

Run it once for each release, from the code that is released: `python tools/release/kept_files.py`.
It runs `maar up` with a little of everything and `maar scheduler --record` beside it, and takes a
snapshot and a backup. Keys, tokens and kubeconfigs of the folder are left out.
"""

import gzip
import json
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from maar import __version__

KEPT: Final = Path(__file__).parents[2] / "tests" / "kept"
OBJECTS: Final = KEPT / "objects.yaml"
CONFIGURATION: Final = KEPT / "configuration.yaml"
BIN: Final = Path(sys.executable).parent
FILES: Final = ("objects-*.db", "objects-*.wal", "backups/*", "console-history.sqlite")
WITHIN_S: Final = 150.0


def main() -> None:
    """Write the folder of this version."""
    target = KEPT / f"v{__version__}"
    if target.exists():
        sys.exit(f"{target} is there already: what a version has kept does not change")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data"
        up = ["up", "--data", str(data), "--port=0", "--console-port=0", "--nodes=2x4cpu,8Gi"]
        up += ["--planned-starts-interval=1s", f"--config={CONFIGURATION}"]
        with _running(*up):
            access = ["--kubeconfig", str(data / "kubeconfig")]
            _until("the API server answers", lambda: _answers(data / "kubeconfig"))
            _kubectl(access, "apply", "-f", str(OBJECTS))
            _until("statuses are kept", lambda: _has_statuses(access))
            recorder = ["scheduler", *access, "--no-leader-elect", "--scheduler-name=recorded"]
            with _running(*recorder, "--record", str(folder / "recording.jsonl")):
                _until("what is recorded is bound", lambda: _is_bound(access))
        with _running(*up):  # a second start, which keeps a backup
            _until("it is up again", lambda: _answers(data / "kubeconfig"))
            _until("statuses are kept again", lambda: _has_statuses(access))
            _maar("snapshot", *access, "-o", str(folder / "snapshot.json.gz"))
        _maar("backup", "--data", str(data), "-o", str(folder / "one.backup"))
        _copy(folder, target)
    print(f"wrote {target}")


def _copy(folder: Path, target: Path) -> None:
    target.mkdir(parents=True)
    with tarfile.open(target / "data.tar.xz", "w:xz") as packed_data:
        for pattern in FILES:
            for file in sorted((folder / "data").glob(pattern)):
                packed_data.add(file, file.relative_to(folder))
    for name in ("snapshot.json.gz", "one.backup"):
        shutil.copyfile(folder / name, target / name)
    packed = gzip.compress((folder / "recording.jsonl").read_bytes(), mtime=0)
    (target / "recording.jsonl.gz").write_bytes(packed)


@contextmanager
def _running(*arguments: str) -> Iterator[None]:
    process = subprocess.Popen([BIN / "maar", *arguments], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _maar(*arguments: str) -> None:
    subprocess.run([BIN / "maar", *arguments], check=True)


def _kubectl(access: list[str], *arguments: str, check: bool = True) -> str:
    command = ["kubectl", *access, *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def _answers(kubeconfig: Path) -> bool:
    access = ["--kubeconfig", str(kubeconfig)]
    return kubeconfig.exists() and _kubectl(access, "get", "--raw", "/readyz", check=False) == "ok"


def _has_statuses(access: list[str]) -> bool:
    """Whether past use and a planned start are written."""
    queues, groups = _items(access, "queues"), _items(access, "podgroups")
    return any("history" in one.get("status", {}) for one in queues) and any(
        "time" in one.get("status", {}).get("plannedStart", {}) for one in groups
    )


def _is_bound(access: list[str]) -> bool:
    recorded = [one for one in _items(access, "pods") if one["spec"]["schedulerName"] == "recorded"]
    return bool(recorded) and all("nodeName" in one["spec"] for one in recorded)


def _items(access: list[str], plural: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_kubectl(access, "get", plural, "-A", "-o", "json"))["items"]
    return found


def _until(what: str, holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + WITHIN_S
    while not holds():
        if time.monotonic() > limit:
            sys.exit(f"not within {WITHIN_S:.0f} s: {what}")
        time.sleep(0.5)


if __name__ == "__main__":
    main()
