"""Lines of a trace: text of bytes, with a bound on what is held of a line."""

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

from maar.core.traces.skips import SkipReason, Skips

LONGEST_LINE: Final = 65_536  # characters; records have some hundred

_BYTE_ORDER_MARK: Final = "\ufeff"

Numbered = Iterator[tuple[int, str]]  # lines with their numbers, from 1 on


class Piece(str):
    """A part of a line that goes on in the next string."""

    __slots__ = ()


def text_lines(chunks: Iterable[bytes], longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a file that comes in chunks, with their ends; a longer one comes in pieces.

    What is not UTF-8 becomes replacement characters: a broken name harms nothing, a broken number is counted.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest = ""
    for chunk in chunks:
        *lines, last = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            yield line + "\n"
        rest = last
        if len(rest) > longest:
            yield Piece(rest)
            rest = ""
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest


def numbered(lines: Iterable[str], skips: Skips, longest: int = LONGEST_LINE) -> Numbered:
    """Lines that may be records, without their ends; blank ones are passed over, broken ones counted."""
    is_going_on = False  # whether the line is the rest of one that was too long
    number = 0
    for line in lines:
        number += not is_going_on
        if type(line) is Piece or is_going_on or len(line) > longest or "\0" in line:
            if not is_going_on:
                is_long = type(line) is Piece or len(line) > longest
                skips.read += 1
                skips.add(SkipReason.TOO_LONG if is_long else SkipReason.NOT_TEXT, number)
            is_going_on = type(line) is Piece
            continue
        stripped = line.strip() if number > 1 else line.removeprefix(_BYTE_ORDER_MARK).strip()
        if stripped:
            yield number, stripped
