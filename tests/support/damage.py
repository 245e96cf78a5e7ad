"""Ways in which files of a data folder are damaged, chosen at random."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

LARGEST_BLOCK: Final = 20_000


def _offset(path: Path, rng: random.Random) -> int:
    return rng.randrange(max(path.stat().st_size, 1))


def _overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data[: max(0, path.stat().st_size - offset)])


def flip(path: Path, rng: random.Random) -> str:
    """One bit changes."""
    offset = _offset(path, rng)
    with path.open("rb") as file:
        file.seek(offset)
        byte = file.read(1)
    _overwrite(path, offset, bytes([byte[0] ^ 1 << rng.randrange(8)]))
    return f"a bit of byte {offset}"


def zero(path: Path, rng: random.Random) -> str:
    """A block becomes zeros."""
    offset, size = _offset(path, rng), rng.randrange(1, LARGEST_BLOCK)
    _overwrite(path, offset, bytes(size))
    return f"{size} zeros at {offset}"


def scramble(path: Path, rng: random.Random) -> str:
    """A block becomes anything."""
    offset, size = _offset(path, rng), rng.randrange(1, LARGEST_BLOCK)
    _overwrite(path, offset, rng.randbytes(size))
    return f"{size} random bytes at {offset}"


def repeat(path: Path, rng: random.Random) -> str:
    """A block is what another block of the same file is."""
    source, offset, size = _offset(path, rng), _offset(path, rng), rng.randrange(1, LARGEST_BLOCK)
    _overwrite(path, offset, path.read_bytes()[source : source + size])
    return f"{size} bytes from {source} at {offset}"


def truncate(path: Path, rng: random.Random) -> str:
    """The file ends early."""
    size = _offset(path, rng)
    with path.open("r+b") as file:
        file.truncate(size)
    return f"cut to {size} bytes"


def empty(path: Path, _: random.Random) -> str:
    """The file has nothing in it."""
    path.write_bytes(b"")
    return "empty"


def delete(path: Path, _: random.Random) -> str:
    """The file is gone."""
    path.unlink()
    return "deleted"


DAMAGES: Final[tuple[Callable[[Path, random.Random], str], ...]] = (
    flip, flip, flip, zero, zero, scramble, repeat, truncate, truncate, truncate, empty, delete,
)  # fmt: skip


def damage(path: Path, rng: random.Random) -> str:
    """Damage a file in one of these ways, and say how."""
    before = path.read_bytes()
    reported = rng.choice(DAMAGES)(path, rng)
    is_changed = not path.exists() or path.read_bytes() != before
    return f"{path.name}: {reported}" if is_changed else damage(path, rng)


def copied(source: Path, target: Path) -> Path:
    """A copy of the files of a data folder, as a killed process left them."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*-shm"))
    return target
