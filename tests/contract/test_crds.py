"""The custom resource definitions on a real API server: no warning, and refusals as they promise."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.control_plane import ControlPlane
from support.needs_kubernetes import needs_kubernetes

ROOT = Path(__file__).parents[2]
CRDS = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in (ROOT / "deploy/crds").glob("*.yaml")]
CASES = yaml.safe_load((ROOT / "tests/unit/crd_cases.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    needs_kubernetes()
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


def install(plane: ControlPlane, *how: str) -> str:
    """Apply the definitions and wait until they are served; return what kubectl wrote to its error stream."""
    applied = plane.kubectl("apply", *how, "-f", str(ROOT / "deploy/crds"))
    for path in map(collection, CRDS):
        plane.until(f"it serves {path}", partial(plane.found, path))
    return applied.stderr


def collection(crd: dict[str, Any]) -> str:
    """Where objects of a kind are created, in the default namespace if they live in one."""
    spec = crd["spec"]
    (version,) = spec["versions"]
    namespace = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{version['name']}/{namespace}{spec['names']['plural']}"


def difference(plane: ControlPlane, path: str, case: dict[str, Any]) -> str | None:
    """Create the object of a case, strictly, as kubectl does; say what is not as the case promises."""
    created = plane.request("POST", f"{path}?fieldValidation=Strict", case["object"])
    reported = json.loads(created.body).get("message", "")
    if created.status == 201:
        plane.request("DELETE", f"{path}/{case['object']['metadata']['name']}")
        return None if case["refused"] is None and not created.warnings else f"accepted {created.warnings}"
    return None if case["refused"] and case["refused"] in reported else f"{created.status}: {reported}"


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_the_definitions_are_applied_without_a_warning(plane: ControlPlane, how: tuple[str, ...]) -> None:
    plane.kubectl("delete", "customresourcedefinitions", "--all")
    assert install(plane, *how) == ""
    assert install(plane, *how) == "", "a second time"


def test_objects_are_accepted_and_refused_as_promised(plane: ControlPlane) -> None:
    install(plane)
    paths = {crd["spec"]["names"]["kind"]: collection(crd) for crd in CRDS}
    assert {case["object"]["kind"] for case in CASES} == set(paths)
    differences = {case["title"]: difference(plane, paths[case["object"]["kind"]], case) for case in CASES}
    assert {title: found for title, found in differences.items() if found} == {}
