"""`make prometheus`: builds a real Prometheus and promtool into a cache folder, once."""

import json
import sys
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from go_programs import BuildError, Building, unfinished
from support.programs import cache
from support.prometheus import PROGRAMS, PROMETHEUS, find_prometheus, prometheus_folder

BUILDING: Final = Building("prometheus", disk_gb=3)
# Its releases are tagged v0.X.Y as a Go module: 3.15.0 is v0.315.0.
MAJOR, MINOR, PATCH = map(int, PROMETHEUS.split("."))
MODULE: Final = f"github.com/prometheus/prometheus@v0.{MAJOR}{MINOR:02}.{PATCH}"
# Without the discovery of clouds, most of its code, and without the pages for people, which need npm.
FLAGS: Final = ("-trimpath", "-ldflags=-s -w", "-tags=remove_all_sd,netgo")


def main() -> int:
    """Build what is not there yet and say where it is."""
    try:
        if find_prometheus() is None:
            with BUILDING.alone():
                if find_prometheus() is None:
                    _build(prometheus_folder())
    except BuildError as error:
        print(f"prometheus: {error}", file=sys.stderr)
        return 1
    BUILDING.say(f"ready in {prometheus_folder()}")
    return 0


def _build(target: Path) -> None:
    """In the module's own folder, by its own go.sum; Go's checksum database vouches for the module."""
    started, go = time.monotonic(), BUILDING.go()
    BUILDING.say(f"building Prometheus {PROMETHEUS} with {go}: about five minutes on two cores")
    found = BUILDING.step("its source", [go, "mod", "download", "-json", MODULE], cache())
    source = Path(json.loads(found)["Dir"])
    with unfinished(target) as folder:
        for name in PROGRAMS:
            BUILDING.step(name, [go, "build", *FLAGS, "-o", str(folder / name), f"./cmd/{name}"], source)
    BUILDING.say(f"all of it in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
