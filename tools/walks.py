"""How far six requests travel through the code: files, functions, and changes of file.

Each walk runs a part of Maar in this process, brings it to rest, and notes every call within
`src/maar` that one request causes until its last write or its answer: a pod from its watch event to
its bind, a queue from its update to its status, a job to its pods, a what-if, a request to the
console, and a write of kubectl to the embedded server. A change of file is a call in another file
than the call before it. Going on with a coroutine is no call. `one pod, core` counts the calls
within `maar/core`, without a cluster around the engine: `tools/house_limits.toml` limits it.

Run `python tools/walks.py`; `--calls NAME` lists a walk. The figures are the same in every run:
time is virtual, there is one thread, and the API server answers from memory.
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import maar
from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources

Call = tuple[str, str, int]  # file, function and its first line

SOURCE: Final = f"{Path(maar.__file__).parent}/"
CORE: Final = "core/"
WALKS: Final[Mapping[str, str]] = {  # the modules that take them, which import much
    "one pod": "walks_of_daemons",
    "one queue": "walks_of_daemons",
    "one job": "walks_of_daemons",
    "one what-if": "walks_of_answers",
    "one console request": "walks_of_answers",
    "one kubectl write": "walks_of_answers",
}
_COROUTINE: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Recorder:
    """Notes every call within a folder, between `start` and `stop`."""

    def __init__(self, folder: str = SOURCE) -> None:
        self.calls: list[Call] = []
        self._folder = folder
        self._entered = set[FrameType]()  # coroutines, which are entered again whenever they go on

    def start(self) -> None:
        """Note calls from here on."""
        sys.setprofile(self._note)

    def stop(self) -> None:
        """Note no more calls."""
        sys.setprofile(None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Note the calls of a block."""
        before = sys.getprofile()
        self.start()
        try:
            yield
        finally:
            sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event != "call" or not code.co_filename.startswith(self._folder) or frame in self._entered:
            return
        if code.co_flags & _COROUTINE:
            self._entered.add(frame)
        self.calls.append(
            (code.co_filename.removeprefix(self._folder), code.co_qualname, code.co_firstlineno)
        )


def main() -> int:
    """Print the figures of all walks, or every stretch of one of them in one file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", choices=("one pod, core", *WALKS), help="list the calls of a walk")
    named = parser.parse_args().calls
    if named:
        for file, names in stretches(walk(named)):
            print(f"{file:40} {' '.join(dict.fromkeys(names))}")
        return 0
    print(f"{'':24}{'files':>8}{'functions':>12}{'changes of file':>18}")
    for name in ("one pod, core", *WALKS):
        calls = walk(name)
        files, changes = len({file for file, _, _ in calls}), len(stretches(calls)) - 1
        print(f"{name:24}{files:>8}{len(set(calls)):>12}{changes:>18}")
    return 0


def walk(name: str) -> list[Call]:
    """Take a walk, and give its calls."""
    if name not in WALKS:
        return pod_in_core()
    take: Callable[[], list[Call]] = getattr(
        import_module(WALKS[name]), name.replace(" ", "_").replace("-", "_")
    )
    return take()


def stretches(calls: list[Call]) -> list[tuple[str, list[str]]]:
    """The functions that are called in a file before the next one."""
    found: list[tuple[str, list[str]]] = []
    for file, name, _ in calls:
        if not found or found[-1][0] != file:
            found.append((file, []))
        found[-1][1].append(name.replace("<locals>.", ""))
    return found


def pod_in_core() -> list[Call]:
    """Every call within the core while a warm engine is fed one more pod and decides on it."""
    engine = Engine()
    engine.feed([Upserted(object=_node(f"n-{number}")) for number in range(3)])
    engine.feed([Upserted(object=_group(name)) for name in ("before", "measured")])
    engine.feed([Upserted(object=_pod("before"))])
    for bind in engine.decide(0.0).binds:
        engine.assume(bind)
    engine.decide(1.0)
    pod, recorder = _pod("measured"), Recorder(f"{SOURCE}{CORE}")
    with recorder.running():
        engine.feed([Upserted(object=pod)])
        plan = engine.decide(2.0)
    if [bind.pod for bind in plan.binds] != ["a/measured"]:
        raise RuntimeError(f"the pod was not placed: {plan}")
    return recorder.calls


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
