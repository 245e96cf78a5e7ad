"""A page for a file or a folder of the repository, with what is in it."""

from pathlib import Path, PurePosixPath
from typing import Final

from doc_site.paths import ROOT

_LANGUAGES: Final = {".yaml": "yaml", ".yml": "yaml", ".py": "python", ".toml": "toml", ".json": "json"}
_FENCE: Final = "`" * 8  # longer than any in a file


def page_of(path: PurePosixPath) -> str:
    """Show a file, or every file below a folder."""
    found = ROOT / path
    if found.is_file():
        return f"# {path}\n\n{_code(found)}"
    files = sorted(one for one in found.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    return f"# {path}\n\n" + "\n".join(f"## {one.relative_to(found)}\n\n{_code(one)}" for one in files)


def _code(file: Path) -> str:
    language = _LANGUAGES.get(file.suffix, "docker" if file.name == "Dockerfile" else "text")
    if "templates" in file.parts:
        language = "text"  # YAML only once Helm has filled it in
    return f"{_FENCE}{language}\n{file.read_text(encoding='utf-8').rstrip()}\n{_FENCE}\n"
