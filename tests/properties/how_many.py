"""On how many cases laws are tried: on all in `make laws` and in CI, on a part in `make test`."""

import os
from typing import Final

FEWEST: Final = 20
_PART: Final = {"all": 1, "some": 4}[os.environ.get("MAAR_LAWS", "some")]


def cases(of_all: int) -> int:
    """How many of so many cases this run tries."""
    return max(min(of_all, FEWEST), of_all // _PART)
