"""What a simulation is made from: nodes, queues, policies, and jobs from a trace or a generator."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from random import Random
from typing import Final, Literal

from maar.api.arguments import configuration_of
from maar.api.errors import InputError
from maar.api.manifests import read_manifests
from maar.api.simulation.files import first_lines, in_sentences, lines_of
from maar.api.simulation.report import folder_name
from maar.api.simulation.tables import TraceTables
from maar.core.model.kinds import from_document
from maar.core.model.node import Node
from maar.core.model.node_sizes import BadNodesError
from maar.core.model.queue import ROOT, Queue
from maar.core.model.resources import CPU, MEMORY
from maar.core.policy.configuration import Configuration
from maar.core.simulation.experiment import Cluster
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.policies import NAMED, Policy
from maar.core.simulation.workloads import GpuMix, JobMix, synthetic_jobs
from maar.core.traces.lublin import LublinModel, lublin_jobs
from maar.core.traces.reading import (
    FORMATS,
    RECORDING,
    TraceOptions,
    detect_format,
    read_trace,
)
from maar.core.traces.skips import Skips
from maar.embedded.nodes.specification import parse as parse_nodes

Generator = Literal["lublin", "mixed"]
GivenPolicy = str | PathLike[str] | Mapping[str, object] | Configuration | Policy

START: Final = 1_767_225_600.0  # 2026-01-01, when the first day of generated jobs begins
_SHORT_GPUS: Final = re.compile(r"((?:^|[x,])\s*\d+)gpu\b(?!=)", re.ASCII)
_MANIFESTS: Final = frozenset({".yaml", ".yml", ".json"})
_LARGEST_JOB: Final = 64  # CPUs or GPUs of a generated job


def nodes_of(given: Sequence[str | PathLike[str]], tables: TraceTables | None = None) -> tuple[Node, ...]:
    """Nodes of specifications with semicolons between them, of files, and of all files of folders."""
    texts, in_tables, tables = list[str](), list[Node](), tables or TraceTables()
    for part in (part.strip() for text in given for part in fspath(text).split(";")):
        if part and Path(part).is_dir():
            texts += [str(file) for file in sorted(Path(part).iterdir()) if file.suffix in _MANIFESTS]
        elif part and (of_table := tables.nodes(Path(part))) is not None:
            in_tables += of_table
        elif part:
            texts.append(_SHORT_GPUS.sub(r"\1nvidia.com/gpu", part))
    try:
        nodes = [*in_tables, *(from_document(Node, document) for document in parse_nodes(*texts))]
    except BadNodesError as error:
        raise InputError(f" {error}", option="nodes") from None
    if not nodes:
        raise InputError("there is no node: give --nodes, such as --nodes 4x8cpu,32Gi")
    return tuple(nodes)


def queues_of(paths: Iterable[str | PathLike[str]], tables: TraceTables | None = None) -> tuple[Queue, ...]:
    """The queues of files and folders; other objects there are passed over."""
    tables, queues = tables or TraceTables(), list[Queue]()
    for path in map(Path, paths):
        of_table = tables.queues(path)
        queues += [each for each in _read(path) if isinstance(each, Queue)] if of_table is None else of_table
    names = [queue.metadata.name for queue in queues]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(*(f"queue {name} is there twice: rename or remove one of them" for name in twice))
    return tuple(queues)


def _read(path: Path) -> list[object]:
    manifests = read_manifests([path])
    if manifests.errors:
        raise InputError(*manifests.errors)
    return list(manifests.objects)


def policies_of(given: Sequence[GivenPolicy]) -> list[Policy]:
    """Policies by name or from files, each under a name and in a folder of its own."""
    policies = list[Policy]()
    for each in given or ("default",):
        policy, folders = _policy(each), {folder_name(before.name) for before in policies}
        name, number = policy.name, 2
        while folder_name(policy.name) in folders:
            policy, number = policy._replace(name=f"{name}-{number}"), number + 1
        policies.append(policy)
    return policies


def _policy(given: GivenPolicy) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, Configuration | Mapping):
        return Policy("configuration", configuration_of(given))
    text = fspath(given)
    if text in NAMED:
        return NAMED[text]
    if not Path(text).exists():
        names = ", ".join(NAMED)
        raise InputError(f" {text}: neither a file that exists nor one of {names}", option="config")
    return Policy(Path(text).stem, configuration_of(text))


def format_of(file: Path, given: str) -> str:
    """The format of a trace: the one given, or as its first lines look."""
    if given and given not in (*FORMATS, RECORDING):
        names = ", ".join((*FORMATS, RECORDING))
        raise InputError(f" {given}: not a format of traces: choose one of {names}", option="format")
    with in_sentences(file):
        return given or detect_format(first_lines(file))


@dataclass(eq=False)
class TraceJobs:
    """The jobs of a file, as often as they are asked for; `skips` counts what the last reading left out."""

    file: Path
    format: str
    options: TraceOptions
    skips: Skips | None = None

    def __call__(self) -> Iterator[TraceJob]:
        """Read the file; a line at a time is in memory."""
        with in_sentences(self.file):
            trace = read_trace(lines_of(self.file), self.format, self.options)
            self.skips = trace.skips
            yield from trace.jobs


@dataclass(frozen=True)
class GivenJobs:
    """Jobs that a program has, in order of submission."""

    jobs: Sequence[TraceJob]

    def __call__(self) -> Iterable[TraceJob]:
        """The same every time."""
        return sorted(self.jobs, key=lambda job: job.time)


@dataclass(frozen=True)
class GeneratedJobs:
    """Jobs that are drawn at random for a cluster; the same seed gives the same jobs."""

    kind: Generator
    jobs: int
    seed: int
    load: float
    cluster: Cluster

    def __call__(self) -> Iterable[TraceJob]:
        """Draw them."""
        numbers = Random(self.seed)  # noqa: S311  # the same numbers every time are wanted
        queues = dict.fromkeys(_leaves(self.cluster.queues), 1.0)
        cpus = [node.status.allocatable.get(CPU, 0) // 1000 for node in self.cluster.nodes]
        if not max(cpus):
            raise InputError("no node has a whole CPU: generated jobs ask for CPUs; give larger --nodes")
        if self.kind == "lublin":
            per_pod = _power_of_two(max(cpus))
            model = LublinModel(
                self.jobs, sum(cpus), load=self.load, processors_per_pod=per_pod, queues=queues
            )
            return lublin_jobs(model, numbers, START)
        largest = _power_of_two(max(cpus))
        sizes = [node.status.allocatable for node in self.cluster.nodes if node.status.allocatable.get(CPU)]
        memory = min(room.get(MEMORY, 0) * 1000 // room[CPU] for room in sizes)
        mix = JobMix(
            jobs=self.jobs,
            cluster_cpu=sum(cpus) * 1000,
            load=self.load,
            queues=queues,
            namespaces=4,
            largest_job_cpu=1000 * min(_LARGEST_JOB, _power_of_two(max(1, sum(cpus) // 2))),
            largest_pod_cpu=1000 * min(largest, _LARGEST_JOB),
            memory_per_cpu=min(2**30, memory),
            gpus=_gpus(self.cluster.nodes),
        )
        return synthetic_jobs(mix, numbers, START)


def _gpus(nodes: Iterable[Node]) -> GpuMix | None:
    """GPUs as the nodes have them; the first resource whose name ends so."""
    sizes = [node.status.allocatable for node in nodes]
    names = sorted({name for room in sizes for name in room if name.endswith("gpu") and room[name]})
    if not names:
        return None
    having = [room for room in sizes if room.get(names[0])]
    total, most = sum(room[names[0]] for room in having), max(room[names[0]] for room in having)
    return GpuMix(
        total,
        largest_job=min(_LARGEST_JOB, _power_of_two(max(1, total // 2))),
        largest_pod=_power_of_two(most),
        cpu_per_gpu=min(room.get(CPU, 0) // room[names[0]] for room in having),
        resource=names[0],
    )


def _leaves(queues: Sequence[Queue]) -> list[str]:
    above = {queue.parent for queue in queues} | {ROOT}
    return [name for queue in queues if (name := queue.metadata.name) not in above] or ["default"]


def _power_of_two(number: int) -> int:
    """The largest power of two that is not larger."""
    return 1 << (number.bit_length() - 1)
