"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty in every row are left out."""
    listed = list(rows)
    kept = [column for column in range(len(head)) if any(row[column] for row in listed)]
    lines = [[head[column] for column in kept], ["---"] * len(kept)]
    lines += [[_cell(row[column]) for column in kept] for row in listed]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(text: str) -> str:
    """A name as code."""
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """Text that has no meaning in Markdown: angle brackets and asterisks stay what they are."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("[", "\\[")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
