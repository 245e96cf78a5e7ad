"""`kubectl maar` for krew: the files of the image with a launcher, so it brings its Python."""

import shutil
from pathlib import Path
from typing import Final

from release.base_image import PYTHON
from release.bill_of_materials import sha256
from release.deterministic_tar import pack
from release.source import Source

TAKEN: Final = ("usr", "opt")
LOADERS: Final = {"amd64": "ld-linux-x86-64.so.2", "arm64": "ld-linux-aarch64.so.1"}
LIBRARIES: Final = {"amd64": "usr/lib/x86_64-linux-gnu", "arm64": "usr/lib/aarch64-linux-gnu"}
PLACEHOLDER: Final = "RELEASE_ADDRESS"  # whoever publishes a release puts in where its files are
LAUNCHER: Final = """\
#!/bin/sh
# kubectl maar, with the Python and the C library that came with it.
here=$(dirname "$(readlink -f "$0")")
export PYTHONHOME="$here/usr" PYTHONPATH="$here/opt/maar" PYTHONDONTWRITEBYTECODE=1
exec "$here/{libraries}/{loader}" --argv0 "$here/usr/bin/python{python}" --library-path "$here/{libraries}" \\
    "$here/usr/bin/python{python}" -s "$here/opt/maar/bin/kubectl-maar" "$@"
"""
MANIFEST: Final = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: maar
spec:
  version: v{version}
  shortDescription: Queues, jobs and fair shares of Maar
  description: |
    Shows how queues share a cluster and why jobs wait, plans and simulates, and runs and manages jobs
    of Maar, a batch scheduler for Kubernetes that serves the API of Volcano.
  platforms:
"""
PLATFORM: Final = """\
  - selector:
      matchLabels: {{os: linux, arch: {architecture}}}
    uri: {place}/{file}
    sha256: {digest}
    bin: kubectl-maar
"""


def build_plugin(source: Source, roots: dict[str, Path], work: Path, target: Path) -> list[Path]:
    """Write an archive for each architecture, and the manifest that names them."""
    archives, text = list[Path](), MANIFEST.format(version=source.version)
    for architecture, root in sorted(roots.items()):
        archive = target / f"kubectl-maar-{source.version}-linux-{architecture}.tar.gz"
        pack(_files(root, architecture, work / f"plugin-{architecture}"), archive, source.epoch)
        archives.append(archive)
        text += PLATFORM.format(
            architecture=architecture, place=PLACEHOLDER, file=archive.name, digest=sha256(archive)
        )
    manifest = target / f"maar-{source.version}-krew.yaml"
    manifest.write_text(text, encoding="utf-8")
    return [*archives, manifest]


def _files(root: Path, architecture: str, folder: Path) -> Path:
    for name in TAKEN:
        shutil.copytree(root / name, folder / name, symlinks=True)
    launcher = folder / "kubectl-maar"
    libraries, loader = LIBRARIES[architecture], LOADERS[architecture]
    text = LAUNCHER.format(libraries=libraries, loader=loader, python=PYTHON)
    launcher.write_text(text, encoding="utf-8")
    launcher.chmod(0o755)
    return folder
