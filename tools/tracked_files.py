"""The files of the project."""

import subprocess
from pathlib import Path


def tracked() -> list[Path]:
    """Files that git knows, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [Path(name) for name in listed if Path(name).is_file()]
