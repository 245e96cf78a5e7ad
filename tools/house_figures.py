"""What the house limits count: long files, public names, imports, wide prose, duplicates."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

SOURCE: Final = Path("src/maar")
CYCLE: Final = "maar.core.cycle"
LONG_FILE: Final = 300  # lines
WIDTH: Final = 100  # characters of a line of prose
RUN: Final = 6  # lines of code that two places have in common
FENCE: Final = re.compile(r"^\s*(```|~~~)")
WORD: Final = re.compile(r"\w")

Trees = Mapping[Path, ast.Module]
Lines = list[tuple[int, str]]  # with their numbers


@dataclass(frozen=True)
class Figure:
    """A number, and the places that it counts or is the number of."""

    number: int
    places: tuple[str, ...]

    @classmethod
    def counting(cls, places: Iterable[str]) -> "Figure":
        """How many places there are."""
        listed = tuple(places)
        return cls(len(listed), listed)


def figures(files: Iterable[Path]) -> dict[str, Figure]:
    """Every figure of these files by its name."""
    listed = sorted(file for file in files if file.suffix in (".py", ".md") and not file.is_symlink())
    texts = {file: file.read_text(encoding="utf-8") for file in listed}
    trees = {file: ast.parse(text) for file, text in texts.items() if file.suffix == ".py"}
    source = {file: tree for file, tree in trees.items() if file.is_relative_to(SOURCE)}
    others = {file: tree for file, tree in trees.items() if file not in source}
    return {
        **_long_files({file: len(texts[file].splitlines()) for file in source}),
        **_by_package("public", _public_names(source)),
        **_by_package("inside-cycle", _imports_inside_cycle(source)),
        "prose.markdown": Figure.counting(_wide_pages(texts)),
        "prose.docstrings": Figure.counting(_wide_docstrings(trees, texts)),
        "duplicates.source": Figure.counting(_duplicates(source, texts)),
        "duplicates.others": Figure.counting(_duplicates(others, texts)),
    }


def _by_package(group: str, found: Iterable[tuple[str, str]]) -> dict[str, Figure]:
    """One figure for each package that something was found in."""
    places = defaultdict[str, set[str]](set)
    for package, place in found:
        places[package].add(place)
    return {f"{group}.{package}": Figure.counting(sorted(places[package])) for package in sorted(places)}


def _long_files(lengths: Mapping[Path, int]) -> dict[str, Figure]:
    longest = max(lengths, key=lambda file: lengths[file])
    long = [f"{file}: {length} lines" for file, length in lengths.items() if length > LONG_FILE]
    return {
        "files.long": Figure.counting(long),
        "files.longest": Figure(lengths[longest], (str(longest),)),
    }


def _public_names(source: Trees) -> Iterator[tuple[str, str]]:
    """What a module defines for others, with its package; re-exported names count where defined."""
    for file, tree in source.items():
        package, listed = _package(file), _listed(tree)
        for name in _defined(tree):
            if name in listed if listed is not None else not name.startswith("_"):
                yield package if package.startswith("core/") else "others", f"{file}: {name}"


def _imports_inside_cycle(source: Trees) -> Iterator[tuple[str, str]]:
    """What other packages import from the cycle that its two public modules do not list."""
    interface = {
        name: _listed(source[SOURCE / "core" / "cycle" / file]) or frozenset[str]()
        for name, file in ((CYCLE, "__init__.py"), (f"{CYCLE}.inspect", "inspect.py"))
    }
    for file, tree in source.items():
        package = _package(file)
        if package == "core/cycle":
            continue
        for node in _statements(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.startswith(f"{CYCLE}.")]
            elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{CYCLE}."):
                module = node.module or ""
                listed = interface.get(module, frozenset[str]())
                names = [f"{module}.{alias.name}" for alias in node.names if alias.name not in listed]
            else:
                continue
            yield from ((package, name) for name in names)


def _package(file: Path) -> str:
    """The package of a module of Maar: a folder of the core, or one beside the core."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return "/".join(parts[: 2 if parts[0] == "core" else 1])


def _listed(tree: ast.Module) -> frozenset[str] | None:
    """What `__all__` has, where a module has one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
            return frozenset(ast.literal_eval(node.value))
    return None


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module defines at its top level."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement within a tree; expressions, most of a tree, are left out for speed."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(tree, part, ())
        for one in below if isinstance(below, list) else ():  # of a conditional expression, one expression
            if isinstance(one, ast.stmt):
                yield one
            yield from _statements(one)


def _wide_pages(texts: Mapping[Path, str]) -> Iterator[str]:
    """Lines of pages that are too wide; code and tables cannot be folded."""
    for file, text in texts.items():
        is_code = file.suffix != ".md"
        for number, line in enumerate(text.splitlines() if not is_code else (), start=1):
            if FENCE.match(line):
                is_code = not is_code
            elif len(line) > WIDTH and not is_code and not line.lstrip().startswith("|"):
                yield f"{file}:{number}"


def _wide_docstrings(trees: Trees, texts: Mapping[Path, str]) -> Iterator[str]:
    for file, tree in trees.items():
        lines = texts[file].splitlines()
        for node in (tree, *_statements(tree)):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                for number in range(first.lineno, (first.end_lineno or first.lineno) + 1):
                    if isinstance(first.value.value, str) and len(lines[number - 1]) > WIDTH:
                        yield f"{file}:{number}"


def _duplicates(trees: Trees, texts: Mapping[Path, str]) -> Iterator[str]:
    """Pairs of places that have a run of equal lines in common; a longer run is one pair.

    Every window of `RUN` lines is looked up by its text, so that the cost grows with the lines, and
    with the pairs that are found. A window after an equal line is within a run that was counted.
    """
    code = {file: _code(tree, texts[file]) for file, tree in trees.items()}
    windows = defaultdict[tuple[str, ...], list[tuple[Path, int]]](list)
    for file, lines in code.items():
        kept = [line for _, line in lines]
        for start in range(len(kept) - RUN + 1):
            windows[tuple(kept[start : start + RUN])].append((file, start))
    for places in windows.values():
        for (file, start), (other, begin) in combinations(places, 2):
            is_overlapping = file == other and begin - start < RUN
            is_within = start and begin and code[file][start - 1][1] == code[other][begin - 1][1]
            if not is_overlapping and not is_within:
                yield f"{file}:{code[file][start][0]} and {other}:{code[other][begin][0]}"


def _code(tree: ast.Module, text: str) -> Lines:
    """The lines of a module without indentation, imports, comments and lines of brackets only."""
    imported = {
        number
        for node in _statements(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [
        (number, line)
        for number, line in stripped
        if number not in imported and WORD.search(line) and not line.startswith("#")
    ]
