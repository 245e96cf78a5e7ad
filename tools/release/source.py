"""What a release is made from: the files of one commit, at the time of that commit."""

import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final, Self

_VERSION: Final = re.compile(r"^version: (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A folder with the files of a commit."""

    folder: Path
    commit: str
    epoch: int  # when it was committed, in seconds
    version: str

    @classmethod
    def export(cls, repository: Path, folder: Path) -> Self:
        """Write the files of the last commit into a folder, which has nothing else in it."""
        commit = _git(repository, "rev-parse", "HEAD").decode().strip()
        epoch = int(_git(repository, "log", "-1", "--format=%ct"))
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=BytesIO(_git(repository, "archive", "--format=tar", commit))) as archive:
            archive.extractall(folder, filter="tar")
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode & 0o755) if not path.is_symlink() else None
            os.utime(path, (epoch, epoch), follow_symlinks=False)
        chart = (folder / "deploy/chart/maar/Chart.yaml").read_text(encoding="utf-8")
        found = _VERSION.search(chart)
        if found is None:
            raise LookupError("deploy/chart/maar/Chart.yaml has no version: put the line back")
        return cls(folder, commit, epoch, found[1])


def has_changes(repository: Path) -> bool:
    """Whether there is something that is not committed, and so is not in a release."""
    return bool(_git(repository, "status", "--porcelain"))


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True).stdout
