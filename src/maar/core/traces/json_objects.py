"""The outermost objects of JSON text that comes in pieces: a list of a million jobs is never held as a whole.

Text is searched for strings and braces only; what is between a brace at depth zero and the one that
closes it is an object, whether in a list or one in each line. After text that is broken the next
whole object is found again: a string ends with its line, as JSON has it, and what is larger than
any job is taken for one whose end is missing. It is dropped, and the search goes on as if it had
ended.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from maar.core.traces.skips import SkipReason, Skips, excerpt

LARGEST_OBJECT: Final = 2**20  # characters
_PLAIN: Final = r'[^{}"]++|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'  # neither brace nor string, or a whole string
_OUTSIDE: Final = re.compile(rf'(?:{_PLAIN})*+(["{{}}])')
_IN_STRING: Final = re.compile(r'["\\\n]')
_BETWEEN: Final = re.compile(r"[\s,\[\]\ufeff]*")


class JsonObject(NamedTuple):
    """An object, and the line in which it starts."""

    line: int
    text: str


class _Splitter:
    """What is known at a place of the text."""

    def __init__(self, skips: Skips, largest: int) -> None:
        self._skips, self._largest = skips, largest
        self._depth = 0  # of braces
        self._is_in_string = self._is_escaped = False
        self._kept: list[str] = []  # of the open object
        self._size = 0  # of the open object
        self._line, self._begins = 1, 1

    def objects(self, text: str) -> Iterator[JsonObject]:
        """The objects that end in the next piece of the text."""
        since = at = counted = 0  # where what is not kept yet starts; where the search goes on
        if self._is_escaped:
            at, self._is_escaped = 1, False
        while found := _IN_STRING.search(text, at) if self._is_in_string else _OUTSIDE.match(text, at):
            mark, at = found[0][-1], found.end()
            if mark == "\\":
                self._is_escaped = at >= len(text)
                at += 1
            elif mark in '"\n':
                self._is_in_string = not self._is_in_string
            elif mark == "{":
                if not self._depth:
                    self._check_between(text[since : at - 1])
                    self._line += text.count("\n", counted, at)
                    since, counted, self._begins = at - 1, at, self._line
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    self._keep(text[since:at])
                    since = at
                    yield from self._ended()
        if self._depth:
            self._keep(text[since:])
        else:
            self._check_between(text[since:])
        self._line += text.count("\n", counted)

    def end(self) -> None:
        """Count an object that has no end."""
        if self._depth:
            self._skips.read += 1
            self._skips.add(SkipReason.BAD_JSON, self._begins, "the text ends in the middle of it")

    def _keep(self, text: str) -> None:
        self._size += len(text)
        self._kept.append(text)
        if self._size > self._largest:
            self._skips.read += 1
            self._skips.add(SkipReason.TOO_LONG, self._begins, f"more than {self._largest:,} characters")
            self._depth = 0
            self._forget()

    def _ended(self) -> Iterator[JsonObject]:
        if self._kept:
            self._skips.read += 1
            yield JsonObject(self._begins, "".join(self._kept))
        self._forget()

    def _forget(self) -> None:
        self._size = 0
        self._kept.clear()

    def _check_between(self, text: str) -> None:
        """Count text outside of objects, once until the next one."""
        rest = text[_BETWEEN.match(text).end() :]  # type: ignore[union-attr]  # it matches nothing, too
        if rest:
            self._skips.read += 1
            self._skips.add(SkipReason.BAD_JSON, self._line, excerpt(rest))


def json_objects(pieces: Iterable[str], skips: Skips, largest: int = LARGEST_OBJECT) -> Iterator[JsonObject]:
    """The objects in pieces of JSON text, one by one."""
    splitter = _Splitter(skips, largest)
    for piece in pieces:
        yield from splitter.objects(piece)
    splitter.end()
