"""Where the files of a release come from: an in-toto statement with SLSA provenance, not signed.

Whoever publishes a release signs the statement with a key of theirs; there is none here. It names no time,
so that the same commit gives the same bytes.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from google.protobuf.json_format import MessageToDict, MessageToJson
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

from release.bill_of_materials import sha256
from release.source import Source

PREDICATE: Final = "https://slsa.dev/provenance/v1"  # a name, not an address that anything asks
BUILD_TYPE: Final = "urn:maar:make-release:1"
BUILDER: Final = "urn:maar:builder:unnamed"


def statement(
    source: Source, files: Iterable[Path], materials: Iterable[Path], builder: str = BUILDER
) -> str:
    """Say from which commit and from which downloaded files the files of a release were made."""
    made = Provenance()
    definition = made.build_definition
    definition.build_type = BUILD_TYPE
    definition.external_parameters.update({"command": "make release", "version": source.version})
    commit = ResourceDescriptor(name="maar", digest={"gitCommit": source.commit})
    used = {file.name: file for file in materials}
    downloaded = [_described(used[name]) for name in sorted(used)]
    definition.resolved_dependencies.extend([commit.pb, *downloaded])
    made.run_details.builder.id = builder
    subjects = [_described(file) for file in sorted(files)]
    whole = Statement(subjects, PREDICATE, MessageToDict(made))
    whole.validate()
    return MessageToJson(whole.pb, indent=1, sort_keys=True) + "\n"


def _described(file: Path) -> object:
    described = ResourceDescriptor(name=file.name, digest={"sha256": sha256(file)})
    described.validate()
    return described.pb
