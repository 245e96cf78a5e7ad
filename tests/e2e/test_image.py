"""What the Dockerfile makes: its steps, done here, and its entry point as in a pod on a read-only root."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import pytest

from maar import __version__
from maar.apps.manifests import installation
from support.control_plane import ControlPlane
from support.needs_kubernetes import needs_kubernetes
from support.processes import Group

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text(encoding="utf-8")
INSTALLED: Final = "/opt/maar"
NEEDED: Final = "/opt/needed"
# As a node starts a container: only a small folder in memory can be written to, a service account is where
# pods have it, and there is no user but nobody, without privileges or a way to get some. To read is allowed
# everywhere: the interpreter of a test run may live in somebody's private folder.
AS_IN_A_POD: Final = """
mount -o remount,bind,ro / && mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" &&
mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/secrets/kubernetes.io &&
cp -r "$ACCOUNT" /run/secrets/kubernetes.io/serviceaccount &&
mount -t tmpfs -o mode=1777 tmpfs "$TMPDIR" &&
exec setpriv --reuid=%s --regid=%s --clear-groups --no-new-privs --inh-caps=-all,+dac_read_search \
     --ambient-caps=-all,+dac_read_search --bounding-set=-all,+dac_read_search "$@"
"""
PROBE: Final = """
import json, os, pathlib, tempfile
def writes(path):
    try: pathlib.Path(path, "x").touch()
    except OSError: return False
    return True
places = os.environ["TREE"], "/", "/run", tempfile.gettempdir()
print(json.dumps([os.getuid(), os.getgroups(), [writes(place) for place in places]]))
"""


def step(word: str) -> list[str]:
    """What the lines of the Dockerfile that begin with a word say."""
    return re.findall(rf"^{word} (.*)$", DOCKERFILE, re.MULTILINE)


class Image(NamedTuple):
    """What the image would hold, and how its entry point is run."""

    tree: Path
    python: Path
    temporary: Path
    account: Path

    def command(self, *arguments: str) -> list[str]:
        """The entry point with arguments, as the user of the image."""
        (entry,) = json.loads(step("ENTRYPOINT")[0])
        return self.without_privileges([str(self.tree / "bin" / entry), *arguments])

    def without_privileges(self, command: Sequence[str]) -> list[str]:
        """Any command as the user of the image."""
        user, _, group = step("USER")[0].partition(":")
        script = AS_IN_A_POD % (user, group)
        return [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            str(self.tree),
            *command,
        ]

    def environment(self) -> dict[str, str]:
        """The variables of the image, and where its scratch folder is."""
        reported = dict(one.split("=", 1) for one in step("ENV")[-1].split())
        there = {name: value.replace(INSTALLED, str(self.tree)) for name, value in reported.items()}
        there["PATH"] = there["PATH"].replace("$PATH", os.environ["PATH"])
        return {**there, **self._places()}

    def _places(self) -> dict[str, str]:
        return {"TMPDIR": str(self.temporary), "TREE": str(self.tree), "ACCOUNT": str(self.account)}

    def run(self, command: Sequence[str]) -> str:
        """Run to the end; what it said."""
        done = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, check=False, cwd="/"
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The RUN steps done on the files that the COPY steps name."""
    needs_kubernetes()
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody and make a file system read-only")
    folder = tmp_path_factory.mktemp("image")
    build, tree, needed, temporary, account = (
        folder / name for name in ("build", "maar", "needed", "tmp", "account")
    )
    for made in (build, temporary, account):
        made.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__")
    for line in step("COPY"):
        if not line.startswith("--from="):
            *sources, target = line.split()
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, build / target, symlinks=True, ignore=unwanted)
                else:
                    shutil.copy(ROOT / source, build / target)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "python"], check=True)
    python = folder / "python" / "bin" / "python"
    settings = {**os.environ, **dict(one.split("=", 1) for one in step("ENV")[0].split())}
    for script in step("RUN"):
        here = script.replace("python3 -m pip", f"{sys.executable} -m pip --python {python}")
        here = here.replace("python3 -m", f"{python} -m").replace("/opt/$part", f"{folder}/$part")
        here = here.replace(INSTALLED, str(tree)).replace(NEEDED, str(needed))
        done = subprocess.run(
            ["sh", "-c", here], cwd=build, env=settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    shutil.copytree(needed, tree, dirs_exist_ok=True)
    return Image(tree, python, temporary, account)


def test_everybody_can_read_it_and_only_root_could_write_it(image: Image) -> None:
    for file in image.tree.rglob("*"):
        mode = file.lstat().st_mode
        assert file.is_symlink() or mode & stat.S_IROTH, file
        assert file.is_symlink() or not mode & (stat.S_IWOTH | stat.S_IWGRP), file


def test_it_runs_as_nobody_who_can_write_only_to_memory(image: Image) -> None:
    reported = image.run(image.without_privileges([str(image.python), "-c", PROBE]))
    assert json.loads(reported) == [65532, [], [False, False, False, True]]


def test_it_holds_pinned_versions_and_nothing_of_the_development_tools(image: Image) -> None:
    pinned = {line.lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    found = {
        "{}=={}".format(*folder.name.removesuffix(".dist-info").split("-")).lower()
        for folder in image.tree.glob("*.dist-info")
    }
    normal = {one.replace("_", "-") for one in pinned}
    assert {one for one in found if one.replace("_", "-") not in normal} == {f"maar=={__version__}"}
    assert not any(one.startswith(("pytest", "mypy", "ruff", "pip==")) for one in found)


def test_the_entry_point_answers(image: Image) -> None:
    assert image.run(image.command("version")) == f"maar {__version__}\n"
    assert "--config-map" in image.run(image.command("scheduler", "--help"))
    assert image.run(image.command("manifests")).startswith("#")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        running.kubectl("apply", "-f", "-", stdin=installation("maar"))
        yield running


@pytest.mark.parametrize("program", ["scheduler", "controllers", "webhooks"])
def test_the_programs_start_as_in_a_pod(
    image: Image, plane: ControlPlane, program: str, tmp_path: Path
) -> None:
    token = plane.kubectl("create", "token", f"maar-{program}", "-n", "maar-system").stdout
    (image.account / "token").write_text(token)
    (image.account / "namespace").write_text("maar-system")
    shutil.copy(plane.folder / "certificates" / "apiserver.crt", image.account / "ca.crt")
    api = urlsplit(plane.server)
    there = {"KUBERNETES_SERVICE_HOST": str(api.hostname), "KUBERNETES_SERVICE_PORT": str(api.port)}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        here = ["--url", f"https://127.0.0.1:{free.getsockname()[1]}"] if program == "webhooks" else []
    with Group(tmp_path) as processes:
        processes.start(program, image.command(program, *here), {**image.environment(), **there})

        def is_at_work() -> bool:
            processes.check()
            reported = processes.log(program).read_text()
            return "at work" in reported or "serves at" in reported

        plane.until(f"{program} at work", is_at_work)
        processes.stop(program, signal.SIGTERM)
        assert "Traceback" not in processes.log(program).read_text()
