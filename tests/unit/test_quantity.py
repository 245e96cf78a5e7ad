"""Quantities and amounts: what Kubernetes documents, what its own parser answers, and what is refused."""

import pytest

from maar.core.model.quantity import LARGEST, BadQuantityError, Notation, Quantity, parse
from maar.core.model.resources import BadAmountError, Percentages, Resources, amount, quantity_text
from support.cost import Measured, cost_of

# Answers of resource.ParseQuantity in k8s.io/apimachinery 0.36.3.
CANONICAL = {
    "0": "0", "00": "0", "0n": "0", "0Ki": "0", "0e3": "0", "-0": "0", "-0Ki": "0",
    "1.5": "1500m", "1.5Gi": "1536Mi", "0.1": "100m", "100m": "100m", "0.1m": "100u", "1000m": "1",
    "1000": "1k", "1000000": "1M", "1000k": "1M", "1234567M": "1234567M", "1080u": "1080u", "1024": "1024",
    "1024Ki": "1Mi", "1024Mi": "1Gi", "1024Pi": "1Ei", "1536Ki": "1536Ki", "1000Ki": "1000Ki", "0.5Ki": "512",
    ".5": "500m", ".5Mi": "512Ki", ".001": "1m", ".0001k": "100m", "1.": "1", "1.G": "1G", "0100": "100",
    "100.035k": "100035", "10.035M": "10035k", "0.5E": "500P", "+1": "1", "-1": "-1", "-1.5Gi": "-1536Mi",
    "100.035Ki": "102435840m", "0.05Gi": "53687091200m", "0.025Ti": "27487790694400m",
    "129e6": "129e6", "1E3": "1e3", "1e+3": "1e3", "1E-3": "1e-3", "1.2e3": "1200", "1.3E+6": "1300e3",
    "1e14": "100e12", "1.53E12": "1530e9", "0.5e-1": "50e-3", "1e0": "1", "5e00": "5",
    "3.001n": "4n", "0.9n": "1n", "0.00000012345": "124n", "0.5e-9": "1e-9", "1.1E-9": "2e-9",
    "1e-10": "1e-9", "0.000000000001Ki": "2n", "0.9765625Ki": "1k", "1.953125Ki": "2000",
    "9223372036854775807": "9223372036854775807", "9.2E": "9200P", "7Ei": "7Ei",
}  # fmt: skip

POWERS = {
    "n": "1e-9", "u": "1e-6", "m": "1e-3", "": "1e0", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12",
    "P": "1e15", "E": "1e18", "Ki": "1024", "Mi": "1048576", "Gi": "1073741824", "Ti": "1099511627776",
    "Pi": "1125899906842624", "Ei": "1152921504606846976",
}  # fmt: skip

NO_QUANTITIES = [
    "", " ", "2c", "NaN", "nan", "inf", "Infinity", "0x10", "1_000", "1,5", "1 Gi", " 1", "1 ", "1\n", "\n1",
    "1\0", "+", "-", ".", "-.", "+.", "--1", "+-1", "e", "E", "e3", "E3", ".e3", "m", "Ki", ".Ki", "-Ki",
    "1e", "1e+", "1e-", "1Ee3", "1EE", "1Ei3", "1e3Ki", "1e1.5", "1e3e3", "1.2.3", "1..2", "1i", "1ki", "1K",
    "1g", "1mi", "1KI", "1kk", "1mm", "1Kim", "1.m.", "1+1", "1%", "None", "True", "\uff11", "\u0663Gi",
    "1\u2070", "\u00bd", "1\u00b5", "1\u212ai", "\u22121", "1\u00a0",
]  # fmt: skip

OUT_OF_RANGE = [
    "1e400", "1e19", "-1e19", "9223372036854775808", "9223372036854775807.1",
    "9223372036854775807.0000000001", "8Ei", "9.3E", "10E",
    "9007199254740992Ki", "1e41", "1e2147483648", "0.5e999999999999999999999999",
]  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_a_quantity_is_written_as_kubernetes_writes_it(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(("suffix", "one"), POWERS.items())
def test_every_suffix_stands_for_its_power(suffix: str, one: str) -> None:
    assert parse(f"3{suffix}").nanos == 3 * parse(one).nanos
    assert str(parse(f"3{suffix}")) == f"3{suffix}"


def test_the_memory_of_the_documentation_is_the_same_in_all_its_spellings() -> None:
    assert parse("128974848").nanos == parse("128974848000m").nanos == parse("123Mi").nanos
    assert parse("129e6").nanos == parse("129M").nanos
    assert [amount("memory", text) for text in ("128974848", "129e6", "129M", "128974848000m", "123Mi")] == [
        128_974_848, 129_000_000, 129_000_000, 128_974_848, 128_974_848,
    ]  # fmt: skip


def test_a_lone_e_after_digits_is_exa() -> None:
    assert parse("1E") == parse("1000P") == Quantity(10**27, Notation.DECIMAL)
    assert parse("1E1").nanos == 10**10


def test_a_quantity_remembers_how_it_was_written() -> None:
    assert {parse(text).notation for text in ("1000", "1k", "1.5", "1E")} == {Notation.DECIMAL}
    assert {parse(text).notation for text in ("1e3", "1E3", "1e0")} == {Notation.EXPONENT}
    assert {parse(text).notation for text in ("1Ki", "0.5Ei", "0Mi")} == {Notation.BINARY}


@pytest.mark.parametrize("text", NO_QUANTITIES)
def test_what_is_no_quantity_is_refused_and_shown(text: str) -> None:
    with pytest.raises(BadQuantityError) as refusal:
        parse(text)
    assert f"{text!r} is not a quantity" in str(refusal.value)


@pytest.mark.parametrize("text", OUT_OF_RANGE)
def test_more_than_64_bits_hold_is_refused_and_shown(text: str) -> None:
    with pytest.raises(BadQuantityError) as refusal:
        parse(text)
    assert f"{text!r} is out of range" in str(refusal.value)
    assert str(LARGEST) in str(refusal.value)


def test_the_largest_number_is_accepted_in_every_notation() -> None:
    texts = (str(LARGEST), f"{LARGEST}.0", f"{LARGEST}e0", f"{LARGEST}000m", f"{LARGEST - 1023 - 2**20}")
    assert [parse(text).units(1) for text in texts] == [LARGEST] * 4 + [LARGEST - 1023 - 2**20]
    assert parse("9007199254740991Ki").units(1) == 9_007_199_254_740_991 * 1024


LONG = "9" * 10_000_000


@pytest.mark.parametrize(
    "text",
    [LONG, "0." + "0" * 10_000_000 + "1", "1e" + "9" * 10_000_000, "1e999999999", "1e-999999999",
     "1E-2147483649", "-" * 10_000_000, "1" + "Ki" * 5_000_000, "1" + " " * 10_000_000],
    ids=lambda text: f"{text[:12]}... of {len(text)} characters",
)  # fmt: skip
def test_a_bomb_is_refused_at_once_and_shown_in_part(text: str) -> None:
    with pytest.raises(BadQuantityError) as refusal, Measured() as measured:
        parse(text)
    assert measured.cost < 20 * cost_of(LONG.upper, 3), "more than to read ten million characters a few times"
    assert text[:40] in str(refusal.value)
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize(
    ("resource", "text", "units"),
    [
        ("cpu", "0.1m", 1), ("cpu", "0.1", 100), ("cpu", "1.5", 1500), ("cpu", "1", 1000), ("cpu", "1e-3", 1),
        ("cpu", "1.0005", 1001), ("cpu", "0", 0), ("cpu", "-0", 0), ("memory", "400m", 1),
        ("memory", "1Ki", 1024), ("memory", "1.5Gi", 1_610_612_736), ("memory", "1n", 1),
        ("hugepages-2Mi", "4Mi", 4_194_304), ("ephemeral-storage", "0.5", 1), ("storage", "1k", 1000),
        ("nvidia.com/gpu", "2", 2), ("nvidia.com/gpu", "2000m", 2), ("pods", "1.1e2", 110),
        ("example.com/cpu", "3", 3),
    ],
)  # fmt: skip
def test_an_amount_is_whole_units_rounded_up(resource: str, text: str, units: int) -> None:
    assert amount(resource, text) == units


@pytest.mark.parametrize(
    ("resource", "text", "why"),
    [
        ("cpu", "2c", "is not a quantity"), ("memory", "-1", "is negative"), ("cpu", "-1n", "is negative"),
        ("nvidia.com/gpu", "0.5", "is not whole"), ("pods", "1500m", "is not whole"),
        ("memory", "8Ei", "out of range"), ("cpu", "9223372036854776", "out of range"),
        ("cpu", "", "is not a quantity"),
    ],
)  # fmt: skip
def test_a_bad_amount_is_refused_with_its_resource_and_text(resource: str, text: str, why: str) -> None:
    with pytest.raises(BadAmountError) as refusal:
        amount(resource, text)
    assert str(refusal.value).startswith(f"{resource}: {text!r}")
    assert why in str(refusal.value)
    assert refusal.value.resource == resource


def test_an_amount_is_written_in_the_notation_of_its_resource() -> None:
    assert quantity_text("cpu", 1500) == "1500m"
    assert quantity_text("cpu", 2_000_000) == "2k"
    assert quantity_text("memory", 1_610_612_736) == "1536Mi"
    assert quantity_text("memory", 0) == "0"
    assert quantity_text("hugepages-2Mi", 2**22) == "4Mi"
    assert quantity_text("ephemeral-storage", 2**60) == "1Ei"
    assert quantity_text("nvidia.com/gpu", 1024) == "1024"


def test_a_resource_list_takes_texts_and_numbers_and_is_written_back_canonically() -> None:
    read = Resources.parse({"cpu": 1.5, "memory": "1024Mi", "pods": 110})
    assert read == Resources({"cpu": 1500, "memory": 2**30, "pods": 110})
    assert read.quantities() == {"cpu": "1500m", "memory": "1Gi", "pods": "110"}
    assert str(read) == "cpu 1.5, memory 1Gi, pods 110"
    assert str(Resources()) == "nothing"


def test_resources_add_and_compare_by_name() -> None:
    one, other = Resources({"cpu": 500, "memory": 8}), Resources({"cpu": 700, "pods": 1})
    assert one.plus(other) == Resources({"pods": 1, "memory": 8, "cpu": 1200})
    assert one.larger(other) == Resources({"memory": 8, "cpu": 700, "pods": 1})
    assert hash(Resources({"a": 1, "b": 2})) == hash(Resources({"b": 2, "a": 1}))
    assert one.minus(other) == Resources({"cpu": 0, "memory": 8})
    assert one == {"memory": 8, "cpu": 500}
    assert one != other


def test_percentages_are_kept_to_a_thousandth_and_written_as_people_do() -> None:
    read = Percentages.parse({"cpu": 20, "memory": "12.5", "pods": 100, "storage": "0.001", "x": "99.999"})
    assert dict(read) == {"cpu": 20_000, "memory": 12_500, "pods": 100_000, "storage": 1, "x": 99_999}
    assert read.quantities() == {
        "cpu": "20", "memory": "12.5", "pods": "100", "storage": "0.001", "x": "99.999",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["101", "-1", "-0.0001", "100.0001", "1k", "5%", "half", ""])
def test_a_percentage_outside_0_to_100_is_refused_and_shown(text: str) -> None:
    with pytest.raises(BadAmountError) as refusal:
        Percentages.parse({"cpu": text})
    assert str(refusal.value).startswith(f"cpu: {text!r} is not a ")
