"""House rules that no linter knows: names, docstrings, records, citations, and nothing of this machine."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeGuard

from markdown_links import links, problem
from tracked_files import tracked

VAGUE: Final = frozenset({"util", "utils", "helper", "helpers", "manager", "common", "base", "info", "misc"})
# fmt: off
METAPHORS: Final = frozenset(
    {
        "agenda", "audience", "audiences", "begun", "books", "bury", "census", "dice", "doomed", "door",
        "doors", "errand", "errands", "fate", "fates", "fed", "ground", "heir", "hunt", "hunts", "immortal",
        "keeper", "luckiest", "malice", "minding", "minds", "nobody", "obey", "opinions", "patience",
        "pretence", "rooms", "speakers", "stance", "stances", "tenant", "tenants", "told", "twin", "twins",
        "voice", "voices", "warden", "wardens", "whoever",
    }
)
# fmt: on
# The names of tests are sentences, in which these are plain words.
WORDS_OF_SENTENCES: Final = frozenset({"begun", "fed", "nobody", "told", "whoever"})
CODE_LIES_IN: Final = ("bench", "src", "tests", "tools")
PARTS_OF_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # words of snake_case and CamelCase
LONGEST_RECORD: Final = 250  # words of a decision record
WIDTH: Final = 100  # characters of a line of prose
TARGET: Final = re.compile(r"\]\([^)]*\)")  # of a link
NUMBER: Final = re.compile(r"[0-9]{4}")
LONGEST_FILE: Final = 400  # lines of code that still are one thing; most are near a hundred
MACHINE_PATH: Final = re.compile(r"(?<![\w.])/(?:work|farm|root(?!/\.ssh\b)|home/\w+)/")  # but SSH keys
ADDRESS: Final = re.compile(r"https?://")
WITHOUT_ADDRESSES: Final = re.compile(r"constraints|requirements|lock|Makefile|\.sh$|\.toml$|^\.ci/")
YAML_READER: Final = re.compile(r"load|compose|decode|parse|scan|Loader")
THIS_FILE: Final = "tools/house_rules.py"
DECISIONS: Final = Path("docs/decisions")
RECORD_LINK: Final = re.compile(r"\]\((([0-9]{4})-[^)#]+\.md)")
SUPERSEDED: Final = re.compile(r"(?:Partly superseded|Superseded) by \[")
REPLACES: Final = re.compile(r"\b(?:replaces|takes the place of)\b[^.]*?\brecord ([0-9]+)", re.IGNORECASE)
PAGE: Final = re.compile(r"(?<![\w./*{}-])(?:[\w.-]+/)*\w[\w.-]*\.md\b")
PAGES_LIE_IN: Final = (Path(), Path("docs"), Path("docs/specification"))
ELSEWHERE: Final = {  # what only whoever wrote it could read
    "an issue": re.compile(r"\bissues? #?[0-9]+\b", re.IGNORECASE),
    "a section by its number": re.compile("§"),
    "a document that was never here": re.compile(
        r"\b(?:first|reservation|namespace|state) seed\b|\bthe seeds\b|\bseed's\b|\bseeds' |\.\./shared\b"
    ),
}
CLOCKS: Final = frozenset({"monotonic", "perf_counter", "process_time", "thread_time"})
MAY_READ_CLOCKS: Final = {  # in tests
    "tests/support/control_plane.py": "connections that the other end may have closed",
    "tests/support/cost.py": "what work costs, beside other work",
    "tests/support/load_counting.py": "rates of benchmarks",
    "tests/support/until.py": "the one limit of every wait",
    "tests/unit/apps/daemons/test_health.py": "times that the program is given",
    "tests/unit/kube/test_paths_and_outcomes.py": "times that the program is given",
}
MAY_LIMIT: Final = frozenset({"tests/unit/kube/test_credentials.py"})  # a program that ends in half a second
LIMITED: Final = {"timeout": 0, "settimeout": 0, "wait_for": 1}  # which argument is a limit
BROKEN_ON_PURPOSE: Final = Path("tests/house")
PAGES_OF_THE_SITE: Final = Path("tools/doc_site")  # names pages that it makes and checks


def main() -> int:
    """Print every breach; leave with 1 if there is one."""
    breaches = [
        breach
        for rule in (
            names,
            metaphors,
            docstrings,
            classes,
            records,
            superseded,
            citations,
            broken_links,
            lengths,
            machine,
            yaml_limits,
            times,
        )
        for breach in rule(tracked())
    ]
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


def names(files: list[Path]) -> Iterator[str]:
    """A name that could stand for anything says nothing."""
    for file in files:
        for part in (*file.parent.parts, file.stem):
            if part in VAGUE:
                yield f"{file}: the name {part} says nothing; name what it is for"


def metaphors(files: list[Path]) -> Iterator[str]:
    """A name that is a metaphor has to be explained; the words of Kubernetes and of scheduling have not."""
    for file in files:
        if file.parts[0] not in CODE_LIES_IN or file.suffix != ".py":
            continue
        found = {(part, 1) for part in file.with_suffix("").parts[1:]}
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if name := _defined(node):
                found.add((name, getattr(node, "lineno", 1)))
        for name, line in sorted(found, key=lambda one: (one[1], one[0])):
            refused = METAPHORS - WORDS_OF_SENTENCES if name.startswith("test_") else METAPHORS
            for word in PARTS_OF_NAME.findall(name):
                if word.lower() in refused:
                    yield f"{file}:{line}: the name {name} is a metaphor ({word.lower()}); use a plain word"


def _defined(node: ast.AST) -> str:
    """The name that a node gives to a class, function, parameter, variable or attribute."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case (
            ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store())
        ):
            return name
        case _:
            return ""


def docstrings(files: list[Path]) -> Iterator[str]:
    """Every package and module of Maar says in one sentence what it is."""
    for file in files:
        if file.parts[:2] == ("src", "maar") and file.suffix == ".py":
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
            first = (text or "").split("\n\n")[0]
            if not first.endswith("."):
                yield f"{file}: begin with one sentence that says what this is"


def classes(files: list[Path]) -> Iterator[str]:
    """A name stands for one class in the whole core, so that a search finds what it means."""
    taken: dict[str, Path] = {}
    for file in files:
        if file.parts[:3] != ("src", "maar", "core") or file.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                if node.name in taken:
                    yield f"{file}:{node.lineno}: {taken[node.name]} has a class {node.name} too; rename one"
                taken.setdefault(node.name, file)


def records(files: list[Path]) -> Iterator[str]:
    """A decision record has a number of its own, and is short enough to be read."""
    numbered = [file for file in files if file.parent == Path("docs/decisions") and file.suffix == ".md"]
    taken = set[str]()
    for file in sorted(numbered):
        number = file.name.partition("-")[0]
        if NUMBER.fullmatch(number) is None or number in taken:  # numbers may be set aside for branches
            yield f"{file}: begin the name of a decision record with a number that no other has, NNNN-"
        taken.add(number)
        text = TARGET.sub("]", file.read_text(encoding="utf-8"))
        words = sum(any(map(str.isalnum, word)) for word in text.partition("\n")[2].split())
        if words > LONGEST_RECORD:
            yield f"{file}: {words} words, more than {LONGEST_RECORD}; say what, why, and why not X"
        for row, line in enumerate(text.splitlines(), 1):
            if len(line) > WIDTH and not line.startswith("|"):
                yield f"{file}:{row}: wrap at {WIDTH} characters"


def superseded(files: list[Path]) -> Iterator[str]:
    """A record that a later one replaces, wholly or in part, says so under its title and links to it."""
    texts = {
        file.name[:4]: file.read_text(encoding="utf-8")
        for file in sorted(files)
        if file.parent == DECISIONS and file.suffix == ".md"
    }
    replaced_by: dict[str, set[str]] = {}
    for number, text in texts.items():
        paragraph = "".join(text.split("\n\n")[1:2])
        is_replaced = SUPERSEDED.match(paragraph) is not None
        later: dict[str, str] = dict(RECORD_LINK.findall(paragraph)) if is_replaced else {}
        replaced_by[number] = set(later.values())
        if "uperseded by" in text.replace(paragraph if later else "", ""):
            yield f"{DECISIONS}/{number}: say `Superseded by [NN](…)` under the title, and only there"
        for name, by in later.items():
            if by <= number or not (DECISIONS / name).is_file():
                yield f"{DECISIONS}/{number}: superseded by {name}, which is no later record"
    for number, text in texts.items():
        for old in REPLACES.findall(text):
            if number not in replaced_by.get(old.zfill(4), ()):
                yield f"{DECISIONS}/{old.zfill(4)}: record {number} replaces it; say so under its title"


def citations(files: list[Path]) -> Iterator[str]:
    """Whatever a file cites can be read here: no page, issue or document that is not in the repository."""
    for file in files:
        if str(file) == THIS_FILE or file.is_relative_to(BROKEN_ON_PURPOSE) or file.is_symlink():
            continue
        for number, line in enumerate(_lines(file), start=1):
            for page in () if file.is_relative_to(PAGES_OF_THE_SITE) else PAGE.findall(line):
                if not any((folder / page).exists() for folder in (file.parent, *PAGES_LIE_IN)):
                    yield f"{file}:{number}: cites {page}, which does not exist; cite docs/specification"
            for what, pattern in ELSEWHERE.items():
                if pattern.search(line):
                    yield f"{file}:{number}: cites {what}; cite docs/specification"


def broken_links(files: list[Path]) -> Iterator[str]:
    """A link of a page leads to a file, and to a heading where it names one."""
    for file in files:
        if file.suffix == ".md":
            for number, target in links(file):
                if wrong := problem(file, target):
                    yield f"{file}:{number}: links to {target}: {wrong}"


def lengths(files: list[Path]) -> Iterator[str]:
    """A long file has more than one reason to change."""
    for file in files:
        if file.suffix == ".py" and len(file.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE:
            yield f"{file}: more than {LONGEST_FILE} lines; split it by reason to change"


def machine(files: list[Path]) -> Iterator[str]:
    """Nothing that only holds here: paths of one machine, addresses in set-up files."""
    for file in files:
        if str(file) == THIS_FILE or file.is_symlink():
            continue
        for number, line in enumerate(_lines(file), start=1):
            if MACHINE_PATH.search(line):
                yield f"{file}:{number}: a path of one machine"
            if ADDRESS.search(line) and WITHOUT_ADDRESSES.search(str(file)):
                yield f"{file}:{number}: an address in a set-up file"


def times(files: list[Path]) -> Iterator[str]:
    """A test that asserts a time, or waits for seconds only, fails on a slow or busy machine."""
    for file in files:
        if file.parts[0] != "tests" or file.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", node.name if isinstance(node, ast.alias) else "")
            if name.removesuffix("_ns") in CLOCKS and str(file) not in MAY_READ_CLOCKS:
                line = getattr(node, "lineno", 1)
                yield f"{file}:{line}: reads a clock; count work, or compare costs with support.cost"
            if (
                str(file) not in MAY_LIMIT
                and isinstance(node, ast.Call)
                and any(map(_is_number, _limits(node)))
            ):
                yield f"{file}:{node.lineno}: a limit of its own; wait for TIMEOUT_S of support.until"


def _limits(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that say how long it may take."""
    function = getattr(call.func, "attr", getattr(call.func, "id", ""))
    place = LIMITED.get(function, len(call.args))
    return [*call.args[place : place + 1], *(one.value for one in call.keywords if one.arg == "timeout")]


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def yaml_limits(files: list[Path]) -> Iterator[str]:
    """Only maar.parsing reads YAML: a loader without limits ends the process, or takes all memory."""
    for file in files:
        if file.parts[:2] != ("src", "maar") or file.suffix != ".py" or file.parts[2] == "parsing":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if _reads_yaml(node):
                yield f"{file}:{node.lineno}: reads YAML without limits; use maar.parsing.yaml_documents"


def _reads_yaml(node: ast.AST) -> TypeGuard[ast.expr | ast.stmt]:
    if isinstance(node, ast.ImportFrom):
        return node.module == "yaml" and any(YAML_READER.search(one.name) for one in node.names)
    return (
        isinstance(node, ast.Attribute)
        and ast.unparse(node.value) in ("yaml", "msgspec.yaml")
        and YAML_READER.search(node.attr) is not None
    )


def _lines(file: Path) -> list[str]:
    """The lines of a text; a picture has none."""
    content = file.read_bytes()
    return [] if b"\0" in content else content.decode(errors="replace").splitlines()


if __name__ == "__main__":
    sys.exit(main())
