"""Where the files of a release come from: an in-toto statement with SLSA provenance, not signed.

Whoever publishes a release signs the statement with their key. It names no time, so that the same
commit gives the same bytes.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from release.bill_of_materials import sha256
from release.source import Source

# Names of two formats, which look like addresses; nothing is fetched from them.
STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://slsa.dev/provenance/v1"
BUILD_TYPE: Final = "urn:maar:make-release:1"
BUILDER: Final = "urn:maar:builder:unnamed"


def statement(source: Source, files: Iterable[Path], materials: Iterable[Path], builder: str) -> str:
    """Say from which commit and which downloaded files the files of a release were made."""
    used = {file.name: file for file in materials}
    definition = {
        "buildType": BUILD_TYPE,
        "externalParameters": {"command": "make release", "version": source.version},
        "resolvedDependencies": [
            {"name": "maar", "digest": {"gitCommit": source.commit}},
            *(_described(used[name]) for name in sorted(used)),
        ],
    }
    whole = {
        "_type": STATEMENT,
        "subject": [_described(file) for file in sorted(files)],
        "predicateType": PREDICATE,
        "predicate": {"buildDefinition": definition, "runDetails": {"builder": {"id": builder}}},
    }
    return json.dumps(whole, indent=1) + "\n"


def _described(file: Path) -> dict[str, object]:
    return {"name": file.name, "digest": {"sha256": sha256(file)}}
