"""The way of one pod through the code: every step that ARCHITECTURE.md names is really taken."""

import re
import sys
from pathlib import Path
from types import FrameType

from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"`(core/[a-z_/]+\.py)` `([A-Za-z_.]+)`")


def steps_of_the_page() -> list[tuple[str, str]]:
    """The steps of the page, in its order."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = page.split("## One pod, from event to bind")[1].split("\n## ")[0]
    return [
        (file, name if name[0].islower() or "." in name else f"{name}.__init__")
        for file, name in STEP.findall(section)
    ]


def test_one_pod_takes_the_way_that_the_page_tells() -> None:
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and "/maar/core/" in file:
            called.append(("core/" + file.split("/maar/core/")[1], frame.f_code.co_qualname))

    node = Node(
        metadata=Metadata(name="n"),
        status=NodeStatus(
            allocatable=Resources({"cpu": 1000, "pods": 10}),
            conditions=(Condition(type="Ready", status="True"),),
        ),
    )
    group = PodGroup(metadata=Metadata(name="g", namespace="a"), spec=PodGroupSpec(min_member=1))
    container = Container(resources=ResourceRequirements(requests=Resources({"cpu": 500})))
    metadata = Metadata(name="p", namespace="a", annotations={GROUP_ANNOTATION: "g"})
    pod = Pod(metadata=metadata, spec=PodSpec(containers=(container,)))
    engine = Engine()
    engine.feed([Upserted(object=node), Upserted(object=group)])
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        engine.feed([Upserted(object=pod)])
        plan = engine.decide(0.0)
    finally:
        sys.setprofile(before)
    assert [(bind.pod, bind.node) for bind in plan.binds] == [("a/p", "n")]
    steps = steps_of_the_page()
    assert len(steps) > 10
    places = [called.index(step) for step in steps if step in called]
    assert [step for step in steps if step not in called] == []
    assert places == sorted(places)
