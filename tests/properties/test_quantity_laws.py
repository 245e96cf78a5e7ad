"""The laws of quantities, and that the reader agrees with the documented grammar in exact fractions."""

from fractions import Fraction
from math import ceil

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from maar.core.model.quantity import LARGEST, NANOS, BadQuantityError, Notation, Quantity
from maar.core.model.resources import Percentages, Resources, amount, quantity_text
from properties.how_many import cases

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
LETTERS = "0123456789.+-eEinumkKMGTP"
MOST = LARGEST * NANOS


def of_grammar(text: str) -> Fraction | None:
    """Read a sign, a number and a suffix, as Kubernetes documents them; None where the text is not that."""
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    suffix = rest.lstrip("0123456789.")
    whole, point, part = rest.removesuffix(suffix).partition(".")
    if "." in part or not (whole or part) or (not point and not whole):
        return None
    factor = of_suffix(suffix)
    number = Fraction(int(whole + part or "0"), 10 ** len(part))
    return None if factor is None else (-number if sign == "-" else number) * factor


def of_suffix(suffix: str) -> Fraction | None:
    """Give what the number is multiplied with; None where there is no such suffix."""
    if suffix in DECIMAL:
        return Fraction(10) ** DECIMAL[suffix]
    if suffix in BINARY:
        return Fraction(1024) ** BINARY[suffix]
    digits = suffix[1:].removeprefix("-" if suffix[1:2] == "-" else "+")
    if suffix[:1] in ("e", "E") and digits and not digits.strip("0123456789"):
        return Fraction(10) ** int(suffix[1:])
    return None


def nanos_of(value: Fraction) -> int:
    """Round away from zero to whole nanos, the smallest that Kubernetes keeps."""
    nanos = ceil(abs(value) * NANOS)
    return -nanos if value < 0 else nanos


def read(text: str) -> Quantity | BadQuantityError:
    """Let the refusal be a value; any other exception is a failure."""
    try:
        return Quantity.parse(text)
    except BadQuantityError as error:
        return error


def family(quantity: Quantity) -> list[str]:
    """List the suffixes that a quantity may be written with, in rising order."""
    size = abs(quantity.nanos)
    if quantity.notation is Notation.BINARY and size >= 1024 * NANOS and size % NANOS == 0:
        return ["", *BINARY]
    if quantity.notation is Notation.EXPONENT:
        return [f"e{power}" if power else "" for power in DECIMAL.values()]
    return list(DECIMAL)


signs = st.sampled_from(("", "", "", "+", "-"))
digits = st.text("0123456789", min_size=1, max_size=22) | st.sampled_from(("0", "1", "1000", "1024", "1536"))
numbers = st.one_of(
    digits,
    st.builds("{}.{}".format, digits, digits | st.just("")),
    digits.map(".{}".format),
)
exponents = st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(("", "+", "-")), st.integers(0, 40)
)
texts = st.builds("{}{}{}".format, signs, numbers, st.sampled_from((*DECIMAL, *BINARY)) | exponents)
sizes = st.one_of(
    st.integers(0, MOST),
    st.integers(0, 3_000).map(lambda number: number * NANOS),
    st.builds(lambda number, power: min(number * 10**power, MOST), st.integers(0, 10**6), st.integers(0, 27)),
    st.builds(
        lambda number, bits: min(number * NANOS << bits, MOST), st.integers(0, 5000), st.integers(0, 62)
    ),
)
quantities = st.builds(
    lambda size, sign, notation: Quantity(sign * size, notation),
    sizes, st.sampled_from((1, 1, 1, -1)), st.sampled_from(Notation),
)  # fmt: skip
resources = st.sampled_from(("cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "pods", "nvidia.com/gpu"))


@settings(max_examples=cases(2_000))
@given(texts)
@example("9223372036854775807.0000000001")
@example("0.000000000000000001E")
def test_a_text_of_the_grammar_is_the_number_it_says_or_is_out_of_range(text: str) -> None:
    value = of_grammar(text)
    assert value is not None
    quantity = read(text)
    if abs(nanos_of(value)) > MOST:
        assert isinstance(quantity, BadQuantityError)
    else:
        assert isinstance(quantity, Quantity)
        assert quantity.nanos == nanos_of(value)


@settings(max_examples=cases(2_000))
@given(st.text(LETTERS, max_size=12) | st.text(LETTERS + " \n_xca%\u0663\uff11\u2212", max_size=8))
@example("1Ee3")
@example("1E")
@example("\u0663")
def test_a_text_outside_the_grammar_is_refused_and_nothing_else_is(text: str) -> None:
    exponent = text.lower().partition("e")[2].lstrip("+-")
    assume(not exponent.isdecimal() or int(exponent) <= 40)
    value = of_grammar(text)
    accepted = value is not None and abs(nanos_of(value)) <= MOST
    assert isinstance(read(text), Quantity) is accepted


@settings(max_examples=cases(1_000))
@given(st.text() | st.text(LETTERS, max_size=100) | st.from_regex(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?"))
def test_any_text_is_a_quantity_or_is_refused_with_the_text_in_the_message(text: str) -> None:
    quantity = read(text)
    if isinstance(quantity, BadQuantityError):
        assert repr(text[:64])[:-1] in str(quantity)
    else:
        assert abs(quantity.nanos) <= MOST


@given(quantities)
def test_what_is_written_reads_as_the_same_number(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)).nanos == quantity.nanos


@given(quantities)
def test_the_canonical_form_is_a_whole_number_and_the_largest_suffix_that_keeps_it_whole(
    quantity: Quantity,
) -> None:
    text = str(quantity)
    value = Fraction(quantity.nanos, NANOS)
    whole = [
        f"{value / factor}{suffix}"
        for suffix in family(quantity)
        if (factor := of_suffix(suffix)) and (value / factor).denominator == 1
    ]
    assert text == (whole[-1] if value else "0")


@given(quantities)
@example(Quantity(2_000 * NANOS, Notation.BINARY))
def test_written_twice_is_written_once(quantity: Quantity) -> None:
    """A number of bytes without a suffix no longer says that it was binary, here as in Kubernetes."""
    text = str(quantity)
    again = str(Quantity.parse(text))
    if family(quantity)[1:] == list(BINARY) and text[-1].isdecimal():
        assert again == str(Quantity(quantity.nanos, Notation.DECIMAL))
    else:
        assert again == text


@given(quantities.filter(lambda quantity: quantity.nanos >= 0), st.sampled_from((1, 1_000, NANOS, 7)))
def test_units_are_the_fewest_that_hold_the_amount(quantity: Quantity, per_one: int) -> None:
    units, value = quantity.units(per_one), Fraction(quantity.nanos, NANOS)
    assert Fraction(units - 1, per_one) < value <= Fraction(units, per_one)


@given(resources, st.integers(0, LARGEST))
def test_an_amount_that_is_written_reads_as_the_same_amount(resource: str, units: int) -> None:
    assert amount(resource, quantity_text(resource, units)) == units


@given(st.dictionaries(resources, st.integers(0, LARGEST)))
def test_a_resource_list_that_is_written_reads_as_the_same_list(units: dict[str, int]) -> None:
    assert Resources.parse(Resources(units).quantities()) == Resources(units)


@given(st.dictionaries(resources, st.integers(0, 100_000)))
def test_percentages_that_are_written_read_as_the_same_percentages(thousandths: dict[str, int]) -> None:
    assert Percentages.parse(Percentages(thousandths).quantities()) == Percentages(thousandths)
