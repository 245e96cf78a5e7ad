"""A process that reads a snapshot and prints planned starts: `python -m maar.apps.daemons.starts_process`."""

import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.files import read
from maar.core.answers.future import Present
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.starts.rows import start_data

MOST_OF_A_QUEUE: Final = 100
_NICE: Final = 10  # decisions come first


def main(file: str) -> None:
    """Print the planned starts of the first groups of each queue as JSON, by group."""
    os.nice(_NICE)
    found = read(Path(file))
    if found is None:
        raise SystemExit(f"{file}: this is no snapshot of Maar")
    snapshot, objects = found
    configuration = from_recorded(snapshot.configuration)
    present = Present(tuple(objects), configuration, snapshot.time.timestamp(), snapshot.scheduler_name)
    starts = planned_starts(present, first=MOST_OF_A_QUEUE)
    sys.stdout.buffer.write(msgspec.json.encode({key: start_data(one) for key, one in starts.items()}))


if __name__ == "__main__":
    main(sys.argv[1])
