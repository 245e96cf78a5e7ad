"""The chart and the Dockerfile: versions that go together, and no registry that only some can reach."""

import re
import tomllib
from pathlib import Path
from typing import Final

import yaml

from maar import __version__
from requirements import needed, versions

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy" / "chart" / "maar"
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_version_is_in_one_place() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == __version__
    assert "appVersion" not in chart
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    for file in ("Dockerfile", "CITATION.cff", "docs/installing.md", "README.md"):
        assert __version__ not in (ROOT / file).read_text(encoding="utf-8"), file


def test_no_image_names_a_registry() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    images = [values["image"]["repository"], *re.findall(r"^ARG \w+=(\S+:\S+)", DOCKERFILE, re.MULTILINE)]
    assert len(images) == 3
    assert not any(re.search(r"[.:].*/", image) for image in images)


def test_the_image_is_made_of_what_is_let_through_and_of_pinned_versions() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    }
    assert let_through == copied
    assert "PIP_CONSTRAINT=constraints.txt" in DOCKERFILE
    assert all((ROOT / source).exists() for source in copied)


def test_the_image_installs_what_maar_needs_by_hashes_at_the_pinned_versions() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^([\w.-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}\b", text, re.MULTILINE))
    assert found.keys() == needed("maar", set())
    assert found.items() <= versions().items()
    assert len(found) == len(re.findall(r"^[^\s#]", text, re.MULTILINE))  # none is without a hash
    hashed, own, compiled = re.findall(r"^RUN (.*)$", DOCKERFILE, re.MULTILINE)
    assert "--no-deps --only-binary=:all: --require-hashes " in hashed
    assert "--requirement requirements.txt" in hashed
    assert own.endswith("--no-deps --target /opt/maar .")
    assert "pip" not in compiled
