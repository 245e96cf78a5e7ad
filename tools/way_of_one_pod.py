"""How far one pod travels through the core: files, functions, and changes of file from call to call.

A warm engine with a few nodes has placed one pod before; a second one is fed and decided on. Only calls
within `maar/core` are counted, and a change of file is a call in another file than the call before it. Run
`PYTHONPATH=src python tools/way_of_one_pod.py`; with `--calls` it lists the way itself.
"""

import sys
from types import FrameType

from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources

Call = tuple[str, str, int]  # file, function and its first line


def main() -> int:
    """Print the figures, and with --calls every stretch of the way in one file."""
    calls = way_of_one_pod()
    stretches: list[tuple[str, list[str]]] = []
    for file, name, _ in calls:
        if not stretches or stretches[-1][0] != file:
            stretches.append((file, []))
        stretches[-1][1].append(name.replace("<locals>.", ""))
    if "--calls" in sys.argv[1:]:
        for file, names in stretches:
            print(f"{file:32} {' '.join(dict.fromkeys(names))}")
    files = len({file for file, _, _ in calls})
    print(f"{files} files, {len(set(calls))} functions, {len(stretches) - 1} changes of file")
    return 0


def way_of_one_pod() -> list[Call]:
    """Every call within the core while one more pod is fed and decided on."""
    engine = Engine()
    engine.feed([Upserted(object=_node(f"n-{number}")) for number in range(3)])
    engine.feed([Upserted(object=_group(name)) for name in ("before", "measured")])
    engine.feed([Upserted(object=_pod("before"))])
    for bind in engine.decide(0.0).binds:
        engine.assume(bind)
    engine.decide(1.0)
    pod, calls = _pod("measured"), list[Call]()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and "/maar/core/" in code.co_filename:
            calls.append((code.co_filename.split("/maar/core/")[1], code.co_qualname, code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        engine.feed([Upserted(object=pod)])
        plan = engine.decide(2.0)
    finally:
        sys.setprofile(before)
    if [bind.pod for bind in plan.binds] != ["a/measured"]:
        raise RuntimeError(f"the pod was not placed: {plan}")
    return calls


def _node(name: str) -> Node:
    status = NodeStatus(
        allocatable=Resources({"cpu": 1000, "pods": 10}),
        conditions=(Condition(type="Ready", status="True"),),
    )
    return Node(metadata=Metadata(name=name), status=status)


def _group(name: str) -> PodGroup:
    return PodGroup(metadata=Metadata(name=name, namespace="a"), spec=PodGroupSpec(min_member=1))


def _pod(name: str) -> Pod:
    container = Container(resources=ResourceRequirements(requests=Resources({"cpu": 500})))
    metadata = Metadata(name=name, namespace="a", annotations={GROUP_ANNOTATION: name})
    return Pod(metadata=metadata, spec=PodSpec(containers=(container,)))


if __name__ == "__main__":
    sys.exit(main())
