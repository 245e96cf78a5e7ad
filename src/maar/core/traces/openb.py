"""Alibaba openb (GPU 2023): a table of pods, and one of nodes.

A pod runs from its scheduling to its deletion. `gpu_milli` below 1000 is a part of one GPU: rounded
up, or counted in a resource of thousandths. `gpu_spec` lists the models that serve; nodes have
theirs in a label.
"""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Final

from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.resources import CPU, MEMORY, PODS, Resources
from maar.core.traces.columns import Table, column_names
from maar.core.traces.lines import Numbered, numbered
from maar.core.traces.options import NO_FIELD, TraceOptions, queue_field
from maar.core.traces.records import TraceRecord, kubernetes_name
from maar.core.traces.skips import SkipReason, Skips, TraceError, excerpt
from maar.core.traces.sources import Source
from maar.core.traces.values import number

_TIMES: Final = ("creation_time", "deletion_time", "scheduled_time")
_SIZES: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_NEEDED: Final = (*_SIZES, *_TIMES)
_NODE_NEEDED: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_MIB: Final = 2**20
_PODS_OF_NODE: Final = 1000
_LARGEST: Final = 2**53  # what a number of a table may be


def looks_like_openb(lines: list[str]) -> bool:
    """Whether a first line has the columns of pods."""
    return {"name", "cpu_milli", "num_gpu", "gpu_milli"} <= set(column_names(lines[0], ","))


def read_openb(lines: Numbered, options: TraceOptions, skips: Skips) -> Source:
    """Read the header of the pods, and prepare to read them."""
    field = queue_field(options.queue_from, (NO_FIELD, "qos"), "openb")
    table = Table(lines, skips, "openb")
    table.require(*_SIZES)
    if not any(table.at(name) for name in _TIMES):
        raise TraceError(
            "this list of openb has no times: when its pods come, and for how long they run, is not known;"
            f" name a list with the columns {', '.join(_TIMES)}, such as openb_pod_list_default.csv"
        )
    table.require(*_NEEDED, *([field] if field != NO_FIELD else []))
    return Source(_records(table, options, skips, field), field)


def _records(table: Table, options: TraceOptions, skips: Skips, field: str) -> Iterator[TraceRecord]:
    at_name, *at_numbers = (table.at(name) or 0 for name in _NEEDED)
    at_queue, at_models = table.at(field), table.at("gpu_spec")
    for line, row in table.rows():
        try:
            found = [number(row[at]) for at in at_numbers]
        except ValueError:
            skips.add(SkipReason.BAD_NUMBER, line, excerpt(",".join(row)))
            continue
        cpu, memory, gpus, parts, created, deleted, scheduled = found
        amounts = [max(0.0, one or 0.0) for one in (cpu, memory, gpus, parts)]
        if max(amounts) > _LARGEST:
            skips.add(SkipReason.OUT_OF_RANGE, line, excerpt(",".join(row)))
            continue
        models = row[at_models].split("|") if at_models is not None and row[at_models] else []
        yield TraceRecord(
            line=line,
            id=row[at_name],
            submitted=created,
            run_time=None if deleted is None or scheduled is None else deleted - scheduled,
            estimate=None,
            pods=1,
            cpu=amounts[0] / 1000,
            memory=amounts[1] * _MIB or options.memory_per_processor * amounts[0] / 1000,
            gpu=ceil(amounts[2]) * ceil(amounts[3]),
            queue=row[at_queue] if at_queue is not None else "",
            node_labels={options.gpu_model_label: tuple(map(str.strip, models))} if models else {},
        )


def read_openb_nodes(lines: Iterable[str], options: TraceOptions, skips: Skips) -> Iterator[Node]:
    """The nodes of a table of nodes."""
    table = Table(numbered(lines, skips), skips, "openb nodes")
    table.require(*_NODE_NEEDED)
    at_name, at_cpu, at_memory, at_gpus, at_model = (table.at(name) or 0 for name in _NODE_NEEDED)
    for line, row in table.rows():
        try:
            cpu, memory, gpus = (ceil(number(row[at]) or 0) for at in (at_cpu, at_memory, at_gpus))
        except ValueError:
            skips.add(SkipReason.BAD_NUMBER, line, excerpt(",".join(row)))
            continue
        if min(cpu, memory, gpus) < 0 or max(cpu, memory, gpus) > _LARGEST // _MIB:
            skips.add(SkipReason.OUT_OF_RANGE, line, excerpt(",".join(row)))
            continue
        amounts = {CPU: cpu, MEMORY: memory * _MIB}
        labels = {options.gpu_model_label: row[at_model].strip()} if gpus and row[at_model].strip() else {}
        yield gpu_node(row[at_name], amounts, gpus, labels, options)


def gpu_node(
    name: str, amounts: dict[str, int], gpus: int, labels: dict[str, str], options: TraceOptions
) -> Node:
    """A node of a trace; its GPUs are counted as pods ask for them."""
    is_whole = options.shared_gpus == "whole"
    devices = {options.gpu: gpus} if is_whole else {options.gpu_thousandths: gpus * 1000}
    there = {key: amount for key, amount in {**amounts, **devices}.items() if amount}
    ready = (Condition(type="Ready", status="True"),)
    return Node(
        metadata=Metadata(name=kubernetes_name(name, "node"), labels=labels),
        status=NodeStatus(allocatable=Resources({**there, PODS: _PODS_OF_NODE}), conditions=ready),
    )
