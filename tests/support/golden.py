"""Texts that people read, kept word for word; MAAR_GOLDEN=write writes them down anew."""

import os
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def compare(name: str, printed: str) -> None:
    """Hold a text to what is written down."""
    file = GOLDEN / name
    if os.environ.get("MAAR_GOLDEN") == "write":
        file.write_text(printed, encoding="utf-8")
    assert printed == file.read_text(encoding="utf-8")
