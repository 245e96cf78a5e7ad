"""YAML within limits: what costs too much is refused soon, and values are those that kubectl reads."""

import resource

import pytest

from maar.parsing.limits import OBJECT, BadYamlError, DocumentLimits
from maar.parsing.yaml_documents import document, documents
from support.cost import Cost, Measured, cost_of
from support.hostile_text import LONG_YAML, SHORT_YAML

SMALL = DocumentLimits(characters=1_000, nodes=50, depth=10)


HOSTILE = {**SHORT_YAML, **LONG_YAML}
LONG = {"9" * 1_000_000: "9" * 1_000_000, "0x" + "f" * 99: "0x" + "f" * 99}
VALUES: dict[str, object] = {
    "": None, "~": None, "Null": None, "yes": True, "Off": False, "y": "y", "'yes'": "yes", "=": "=",
    "1": 1, "-1": -1, "+1": 1, "017": 15, "0o17": 15, "0x1F": 31, "-0b11": -3, "1_000": 1000, "08": 8.0,
    "1.5": 1.5, "1e3": 1000.0, ".5": 0.5, "1.": 1.0, "18446744073709551615": 2**64 - 1, **LONG,
    "18446744073709551616": float(2**64), "1e999": "1e999", "190:20:30": "190:20:30", "100m": "100m",
    "2026-01-31": "2026-01-31", "2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z", "-": [None], "!!map {}": {},
    "!!timestamp 2026-01-31": "2026-01-31", "!!str 1": "1", "!!int '7'": 7, "! 1": "1", '"\\0"': "\0",
    "{1: a, true: b, 1.5: c}": {"1": "a", "true": "b", "1.5": "c"}, "'<<': 1": {"<<": 1},
    "{<<: {a: 1}, a: 2}": {"a": 2}, "{<<: [{a: 1, b: 1}, {a: 2, c: 2}]}": {"a": 1, "b": 1, "c": 2},
    "[1, &b 2, *b]": [1, 2, 2], "{a: &x 1, b: &x 2, c: *x}": {"a": 1, "b": 2, "c": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def allowed() -> Cost:
    """What it costs to read as many values as a text may have."""
    text = "[" + "a," * (OBJECT.nodes - 1) + "]"
    return cost_of(lambda: document(text, OBJECT))


@pytest.mark.usefixtures("others_frozen")
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_is_refused_soon_and_in_little_memory(case: str, allowed: Cost) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadYamlError) as refused, Measured() as measured:
        document(HOSTILE[case], OBJECT)
    assert measured.cost < 5 * allowed
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB
    assert 10 < len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "data", [b"\xff\xfea\0", b"a: \xff", b"a: \xed\xa0\x80", b"\x00\x00\xfe\xff"], ids=repr
)
def test_only_utf_8_is_read(data: bytes) -> None:
    with pytest.raises(BadYamlError, match="save it as UTF-8"):
        document(data)


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert document("\ufeffa: ü".encode()) == {"a": "ü"}


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("[[[[[[[[[[[]]]]]]]]]]]", "line 1, column 11: nested more than 10 levels deep"),
        ("[" + "a," * 50 + "]", "more than 50 values, aliases written out"),
        ("a: &a " + "x" * 400 + "\nb: [*a, *a]", "line 2, column 9: more than 1000 characters"),
        ("a: 1\nb: 2\n'a': 3", 'line 3, column 1: the key "a" is in this mapping already, in line 1'),
        ("a: {b: 1, b: 2}", 'line 1, column 11: the key "b" is in this mapping already, in line 1'),
        ("1: a\n'1': b", 'the key "1" is in this mapping already'),
        (
            "apiVersion: v1\nkind: A\napiVersion: v1\nkind: B",
            "line 3, column 1: .* if a second object begins here, put a line with --- before line 3",
        ),
        ("a: [\n", "line 2, column 1: did not find expected node content, while parsing a flow node"),
        ("a: !!python/none", "line 1, column 4: the tag !!python/none is not supported"),
        ("a: *b", "line 1, column 4: the alias \\*b stands for nothing before it"),
    ],
)
def test_a_refusal_names_the_place(text: str, reported: str) -> None:
    with pytest.raises(BadYamlError, match=reported):
        list(documents(text, SMALL))


def test_what_is_written_out_may_reach_the_limits() -> None:
    assert document("[[[[[[[[[[]]]]]]]]]]", SMALL) is not None
    assert document("[" + "a," * 49 + "]", SMALL) == ["a"] * 49
    assert document("a: &a [x, y, z]\nb: [" + "*a," * 10 + "]", SMALL) is not None


def test_repeated_keys_can_be_told_instead_of_refused() -> None:
    reports: list[str] = []
    assert document("a: 1\na: 2", repeated=reports.append) == {"a": 2}
    assert reports == [
        'line 2, column 1: the key "a" is in this mapping already, in line 1; remove one of them'
    ]


@pytest.mark.parametrize("text", VALUES, ids=lambda text: text[:20])
def test_values_are_those_that_kubectl_reads(text: str) -> None:
    found, value = document(text), VALUES[text]
    assert found == value
    assert type(found) is type(value)


def test_what_aliases_stand_for_is_copied() -> None:
    found = document("a: &a {x: [1]}\nb: *a\nc: {<<: *a}")
    assert isinstance(found, dict)
    found["a"]["x"].append(2)
    assert found["b"] == found["c"] == {"x": [1]}


def test_documents_come_one_by_one_and_anchors_end_with_theirs() -> None:
    found = documents("a: &a 1\n---\n---\nb: *a")
    assert next(found) == {"a": 1}
    assert next(found) is None
    with pytest.raises(BadYamlError, match="stands for nothing"):
        next(found)
