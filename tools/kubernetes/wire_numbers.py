"""Writes src/maar/embedded/wire/numbers.json: the numbers of fields in Kubernetes' binary form.

python tools/kubernetes/wire_numbers.py FOLDER, where FOLDER has the modules api, apimachinery and
apiextensions-apiserver of one Kubernetes version, as `go mod download` puts them.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

OUTPUT: Final = Path(__file__).parents[2] / "src/maar/embedded/wire/numbers.json"
GROUPS: Final = ("core", "apps", "batch", "coordination", "policy", "scheduling", "storage")
REVIEWS: Final = ("authentication", "authorization")
EXTRA: Final = (
    "apimachinery@*/pkg/apis/meta/v1", "apimachinery@*/pkg/runtime", "apimachinery@*/pkg/util/intstr",
    "apimachinery@*/pkg/api/resource",
)  # fmt: skip
ROOTS: Final = re.compile(
    r".*\.(Pod|Node|Namespace|Event|ConfigMap|Secret|ServiceAccount|Service|ResourceQuota|PersistentVolume"
    r"|PersistentVolumeClaim|Binding|ReplicaSet|StatefulSet|Job|Lease|PodDisruptionBudget|Eviction"
    r"|PriorityClass|StorageClass|\w+Review|DeleteOptions|Unknown|IntOrString|Quantity)"
)
MESSAGE: Final = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD: Final = re.compile(
    r"^\s+(?:(optional|repeated)\s+)?(map<string, ([\w.]+)>|[\w.]+) (\w+) = (\d+);", re.MULTILINE
)

STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
MEMBER: Final = re.compile(
    r"^\s+(?:\w+ +)?(\*?)[\w.\[\]*]+ +`json:\"(\w*)(?:,\w+)*\" protobuf:\"\w+,(\d+)", re.MULTILINE
)


def files(modules: Path) -> Iterator[Path]:
    """The descriptions of messages."""
    for group in (*GROUPS, *REVIEWS):
        yield from modules.glob(f"api@*/{group}/v1/generated.proto")
    for place in EXTRA:
        yield from modules.glob(f"{place}/generated.proto")


def members(folder: Path) -> dict[tuple[str, int], tuple[bool, str]]:
    """Of each field in Go: whether it may be missing, and its name in JSON, empty where it is inlined."""
    found = {}
    for file in folder.glob("*.go"):
        if not file.name.startswith("zz_") and not file.name.endswith(".pb.go"):
            for name, body in STRUCT.findall(file.read_text(encoding="utf-8")):
                for pointer, field, number in MEMBER.findall(body):
                    found[name, int(number)] = (bool(pointer), field)
    return found


def read(file: Path) -> Iterator[tuple[str, list[list[object]]]]:
    """The messages of a file and their fields: number, JSON name, type, shape, whether it may be missing."""
    text, in_go = file.read_text(encoding="utf-8"), members(file.parent)
    package = re.findall(r"^package ([\w.]+);", text, re.MULTILINE)
    for name, body in MESSAGE.findall(text):
        fields: list[list[object]] = []
        for label, type_, values, field, number in FIELD.findall(body):
            of = values or type_
            full = of.lstrip(".") if "." in of or of[0].islower() else f"{package[0]}.{of}"
            shape = "map" if values else "list" if label == "repeated" else ""
            may_be_missing, json_name = in_go.get((name, int(number)), (True, field))
            fields.append([int(number), json_name, full, shape, may_be_missing])
        yield f"{package[0]}.{name}", fields


def reachable(messages: dict[str, list[list[object]]]) -> dict[str, list[list[object]]]:
    """Only what the kinds of the embedded server are made of."""
    found: dict[str, list[list[object]]] = {}
    waiting = [name for name in messages if ROOTS.fullmatch(name)]
    while waiting:
        name = waiting.pop()
        if name not in found and name in messages:
            found[name] = messages[name]
            waiting += [str(field[2]) for field in messages[name]]
    return dict(sorted(found.items()))


def main() -> None:
    """Write the table."""
    messages = dict(entry for file in files(Path(sys.argv[1])) for entry in read(file))
    found = reachable(messages)
    lines = [f" {json.dumps(name)}: {json.dumps(fields)}" for name, fields in found.items()]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{OUTPUT}: {len(found)} messages, {sum(map(len, found.values()))} fields")


if __name__ == "__main__":
    main()
