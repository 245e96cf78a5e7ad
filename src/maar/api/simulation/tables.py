"""Tables that belong to a trace: nodes of openb and Philly, and the GPUs of Helios' virtual clusters."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from maar.api.errors import InputError
from maar.api.simulation.files import first_lines, in_sentences, lines_of
from maar.core.model.node import Node
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.traces.helios import read_helios_gpus
from maar.core.traces.openb import read_openb_nodes
from maar.core.traces.options import TraceOptions
from maar.core.traces.philly import read_philly_machines
from maar.core.traces.skips import Skips

_NODES: Final = {"cpu_milli": read_openb_nodes, "machineId": read_philly_machines}
_LARGEST_WEIGHT: Final = 65535


@dataclass(eq=False)
class TraceTables:
    """Reads tables; `notes` say what of them was left out."""

    options: TraceOptions = field(default_factory=TraceOptions)
    notes: list[str] = field(default_factory=list)

    def nodes(self, file: Path) -> list[Node] | None:
        """The nodes of a table; None where the file is none."""
        columns = _columns(file)
        read = next((reader for name, reader in _NODES.items() if name in columns), None)
        if read is None:
            return None
        skips = Skips()
        with in_sentences(file):
            nodes = list(read(lines_of(file), self.options, skips))
        self._note(file, skips.sentences())
        if not nodes:
            raise InputError(f"{file}: there is no node in it", *skips.sentences())
        return nodes

    def queues(self, file: Path) -> list[Queue] | None:
        """The queues of Helios' table: the weight of each is the most GPUs that it has on any day."""
        if not {"date", "total"} <= _columns(file):
            return None
        skips, most = Skips(), dict[str, int]()
        with in_sentences(file):
            for day in read_helios_gpus(lines_of(file), self.options, skips):
                most |= {name: max(gpus, most.get(name, 0)) for name, gpus in day.gpus.items()}
        self._note(file, skips.sentences())
        if not most:
            raise InputError(f"{file}: there is no queue in it", *skips.sentences())
        return [
            Queue(
                metadata=QueueMetadata(name=name),
                spec=QueueSpec(weight=min(max(1, gpus), _LARGEST_WEIGHT)),
            )
            for name, gpus in most.items()
        ]

    def _note(self, file: Path, sentences: Iterable[str]) -> None:
        self.notes += [f"{file}: {sentence}" for sentence in sentences]


def _columns(file: Path) -> set[str]:
    """The names in the first line."""
    if not file.is_file():
        return set()
    first = next(iter(first_lines(file)), "")
    return {name.strip().strip('"') for name in first.split(",")}
