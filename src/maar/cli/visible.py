"""What commands write, made safe for terminals: whoever names an object has no say in what a terminal does.

All text that a command writes passes here: `visible_output` stands in for the standard streams.
rich writes past it, since its own colours have to reach the terminal as they are (`Terminal`). What
a pod has printed is bytes, and is not changed, as with `kubectl logs`.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Final, TextIO, cast

# Control characters but for tab and line feed, and those that turn the direction of text around.
_HIDDEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The same text with what a terminal would obey written out, as JSON writes it: \u001b."""
    return _HIDDEN.sub(lambda hidden: f"\\u{ord(hidden[0]):04x}", text)


class _VisibleStream:
    """A standard stream that shows what a terminal would obey."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream  # rich writes there, by this name of its own

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever a stream has
        return getattr(self.rich_proxied_file, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """Have all text that is written meanwhile shown as it is."""
    out, err = (cast(TextIO, _VisibleStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield
