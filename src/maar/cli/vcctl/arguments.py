"""The command lines of Volcano's programs: what asks for help, and logging flags, which log nothing here."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_LOGGING: Final = ("-v", "--v", "--vmodule", "--log-flush-frequency")
_LEVEL: Final = re.compile(r"-v[0-9]+")


def of_volcano(given: Sequence[str], groups: int = 0) -> list[str]:
    """The arguments as Maar's command line has them; `help` may stand among as many words of commands."""
    kept, left = list[str](), iter(given)
    for one in left:
        if one == "--":
            kept += [one, *left]
        elif one.partition("=")[0] in _LOGGING:
            if "=" not in one:
                next(left, None)  # its value
        elif not _LEVEL.fullmatch(one):
            kept.append("--help" if one == "-h" else one)
    words = list(takewhile(lambda one: not one.startswith("-"), kept))[: groups + 1]
    if "help" in words:
        kept.remove("help")
        kept.append("--help")
    return kept
