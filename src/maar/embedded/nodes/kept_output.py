"""The output of pods that are gone: kept for a while, with an index.

Every pod has a folder in `logs`, `<namespace>_<pod>_<uid>`, with a file for each run of a
container, `<container>/<run>.log`. While the pod exists its files are bounded one by one. Once it
is gone its folder stays, with a line in `logs/index.jsonl`, until it is too old or all such folders
together are too large; the oldest go first.
"""

import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

_KEPT_BYTES: Final = 1 << 30  # of all pods that are gone together
_KEPT_DAYS: Final = 14
_INDEX: Final = "index.jsonl"

_DAY_S: Final = 86_400


class _Kept(NamedTuple):
    ended: float
    name: str
    size: int


class KeptOutput:
    """The folder of all output."""

    def __init__(self, folder: Path, most_bytes: int = _KEPT_BYTES, most_days: float = _KEPT_DAYS) -> None:
        self._folder, self._most_bytes, self._most_days = folder, most_bytes, most_days

    def prune(self, alive: Collection[str], now: float) -> None:
        """Remove what is too old or too much of pods that are gone, and write the index of the rest."""
        kept = sorted(self._gone(alive), reverse=True)
        left, stays = self._most_bytes, list[_Kept]()
        for folder in kept:
            left -= folder.size
            if left >= 0 and now - folder.ended <= self._most_days * _DAY_S:
                stays.append(folder)
            else:
                shutil.rmtree(self._folder / folder.name, ignore_errors=True)
        self._write_index(stays)

    def folder_of(self, namespace: str, pod: str) -> Path | None:
        """The output of the last pod of a name."""
        start = f"{namespace}_{pod}_"  # neither name has such a stroke
        found = [folder for folder in self._folder.glob("*_*_*") if folder.name.startswith(start)]
        return max(found, key=lambda folder: folder.stat().st_mtime, default=None)

    def _gone(self, alive: Collection[str]) -> list[_Kept]:
        found: list[_Kept] = []
        for folder in self._folder.glob("*_*_*"):
            if folder.name not in alive:
                files = [file.stat() for file in folder.glob("*/*")]
                ended = max((file.st_mtime for file in files), default=folder.stat().st_mtime)
                found.append(_Kept(ended, folder.name, sum(file.st_size for file in files)))
        return found

    def _write_index(self, kept: list[_Kept]) -> None:
        lines = list[str]()
        for folder in kept:
            namespace, pod, uid = folder.name.split("_")
            files = sorted(
                str(file.relative_to(self._folder)) for file in (self._folder / folder.name).glob("*/*")
            )
            entry = {
                "namespace": namespace,
                "pod": pod,
                "uid": uid,
                "lastOutput": folder.ended,
                "files": files,
            }
            lines.append(json.dumps(entry) + "\n")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = self._folder / f"{_INDEX}.unfinished"
        unfinished.write_text("".join(lines), encoding="utf-8")
        os.replace(unfinished, self._folder / _INDEX)  # noqa: PTH105
