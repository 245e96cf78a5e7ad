"""Lines of a trace: text of bytes, with a bound on the length of a line."""

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

from maar.core.traces.skips import SkipReason, Skips

LONGEST_LINE: Final = 65_536  # characters; records have some hundred
CUT: Final = "\0"  # ends a line of which the rest was not kept

Numbered = Iterator[tuple[int, str]]  # lines with their numbers, from 1 on


def text_lines(chunks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a file that comes in pieces; no more than `longest` characters of a line are kept.

    What is not UTF-8 becomes replacement characters: a broken name harms nothing, a broken number is counted.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest = ""
    for chunk in chunks:
        first, *others = decoder.decode(chunk).split("\n")
        rest = _joined(rest, first, longest)
        if others:
            yield rest
            yield from others[:-1]
            rest = others[-1]
    rest = _joined(rest, decoder.decode(b"", final=True), longest)
    if rest:
        yield rest


def _joined(rest: str, more: str, longest: int) -> str:
    if len(rest) > longest:
        return rest
    return rest + more if len(rest) + len(more) <= longest else (rest + more)[:longest] + CUT


def numbered(lines: Iterable[str], skips: Skips, longest: int = LONGEST_LINE) -> Numbered:
    """Lines that may be records, without their ends; blank ones are passed over, broken ones counted."""
    for number, line in enumerate(lines, start=1):
        if len(line) > longest or "\0" in line:
            skips.read += 1
            skips.add(SkipReason.TOO_LONG if len(line) > longest else SkipReason.NOT_TEXT, number)
            continue
        stripped = line.strip()
        if stripped:
            yield number, stripped
