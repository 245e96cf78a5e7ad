"""Files of jobs and of what belongs to them, read in pieces; what is wrong with one is a sentence."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from maar.api.errors import InputError
from maar.core.traces.lines import text_lines
from maar.core.traces.skips import TraceError

_CHUNK: Final = 1 << 20


def first_lines(file: Path) -> list[str]:
    """The lines that a file begins with."""
    with _opened(file) as opened:
        return list(text_lines([opened.read(_CHUNK)]))


def lines_of(file: Path) -> Iterator[str]:
    """All lines of a file; a piece at a time is in memory."""
    with _opened(file) as opened:
        yield from text_lines(iter(lambda: opened.read(_CHUNK), b""))


@contextmanager
def in_sentences(file: Path) -> Iterator[None]:
    """Say what is wrong with a file that is being read, and what to do."""
    try:
        yield
    except FileNotFoundError:
        problem = "there is no such file; name the file with the jobs"
    except (EOFError, zlib.error, gzip.BadGzipFile):
        problem = "it is not a whole gzip file; copy it again, or unpack it first"
    except OSError as error:
        problem = f"{error.strerror}; name another file"
    except TraceError as error:
        raise InputError(f"{file}: {error}") from None
    else:
        return
    raise InputError(f"{file}: cannot be read: {problem}")


def _opened(file: Path) -> BinaryIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rb")  # type: ignore[return-value]  # it reads as one
    return file.open("rb")
