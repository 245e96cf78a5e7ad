"""Warning headers of an API server's answers, each text reported once."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

Warn = Callable[[str], None]

HEADER: Final = "Warning"
PERSISTENT: Final = "299"  # the code of warnings for people; others are about caches on the way
MOST_REMEMBERED: Final = 1_000

# RFC 7234, section 5.5: a code, who warns, a quoted text and perhaps a quoted date, with commas between.
_VALUE: Final = re.compile(
    r'[\s,]*(?P<code>\d{3}) (?P<agent>[^\s",]+) "(?P<text>(?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?=,|$)'
)
_QUOTED: Final = re.compile(r"\\(.)")


def read_warnings(headers: Iterable[str]) -> Iterator[str]:
    """The texts of warnings for people; what follows something that cannot be read is left out."""
    for header in headers:
        start = 0
        while value := _VALUE.match(header, start):
            start = value.end()
            if value["code"] == PERSISTENT and (text := _plain(_QUOTED.sub(r"\1", value["text"]))):
                yield text


class WithoutRepeats:
    """Passes every text on once; it remembers a bounded number, and passes none on beyond it."""

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self._passed_on: set[str] = set()

    def __call__(self, text: str) -> None:
        """Pass it on, unless it was before."""
        if text not in self._passed_on and len(self._passed_on) < MOST_REMEMBERED:
            self._passed_on.add(text)
            self._warn(text)


def _plain(text: str) -> str:
    """A text that can be shown on a terminal, whatever bytes it was made of."""
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(one if one.isprintable() else "\ufffd" for one in decoded).strip()
