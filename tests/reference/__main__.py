"""Say what one or more cycles decide about files of manifests.

PYTHONPATH=tests python -m reference plan -f FILE [-f FILE …] [--config FILE] [--now TIME] [--cycles
N]
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import yaml

from reference.configuration import Configuration
from reference.printed_plan import plan
from reference.quantities import time
from reference.reading import read_cluster


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="The reference model of the specification.")
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "plan", help="say what the cycles decide"
    )
    command.add_argument(
        "-f", "--filename", action="append", required=True, type=Path, help="a file of manifests"
    )
    command.add_argument("--config", type=Path, help="the scheduler configuration, in Volcano's grammar")
    command.add_argument("--now", type=time, default=datetime.now(UTC), help="the time of the snapshot")
    command.add_argument("--cycles", type=int, default=1)
    command.add_argument(
        "--resubmit-victims", action="store_true", help="victims wait again in the next cycle"
    )
    command.add_argument("-o", "--output", choices=["json"], default="json")
    options = parser.parse_args()
    documents = [
        thing
        for file in options.filename
        for thing in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if thing
    ]
    configuration = Configuration.read(options.config.read_text(encoding="utf-8") if options.config else "")
    cycles = plan(
        read_cluster(documents), configuration, options.now, options.cycles, resubmit=options.resubmit_victims
    )
    sys.stdout.write(json.dumps({"cycles": cycles}, indent=1) + "\n")


if __name__ == "__main__":
    main()
