"""Kinds that were probably meant: a document that names none exactly is a mistake, or of another project."""

from difflib import get_close_matches
from typing import Final

from maar.core.model.kinds import KINDS

_VERSIONS: Final = {kind.__name__: kind.api_version for kind in KINDS}
_BY_LETTERS: Final = {name.lower(): name for name in _VERSIONS}
_CLOSE: Final = 0.8  # in kinds: Queu, Nodes; but neither CronJob for Job nor CSINode for Node
_CLOSE_GROUP: Final = 0.75  # in groups: scheduling.volcano, but not batch for batch.volcano.sh


def misspelt(api_version: object, kind: object) -> str:
    """What is wrong with an apiVersion and a kind that name no kind of Maar's, where that is clear."""
    letters = str(kind).lower()
    close = get_close_matches(letters, _BY_LETTERS, 1, _CLOSE)
    if not close:
        return ""
    name, known = _BY_LETTERS[close[0]], letters in _BY_LETTERS
    version, group = _VERSIONS[name], _group(str(api_version))
    if not api_version:
        what = "there is no apiVersion"
    elif (
        group == _group(version)
        or (known and (not group or group.endswith(".volcano.sh")))
        or get_close_matches(str(api_version), [version], 1, _CLOSE_GROUP)
    ):
        what = f"no cluster has kind {kind} in {api_version}"
    else:
        return ""  # of another group: a kind of another project
    return f"{what}; did you mean apiVersion: {version}, kind: {name}?"


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
