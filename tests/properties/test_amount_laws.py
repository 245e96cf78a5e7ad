"""The laws of amounts as people read them: one notation, never more than there is, in order."""

import re

from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.quantity import LARGEST
from maar.core.model.resources import Resources, amount, precisely, quantity_text, roughly

RESOURCES = st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", "hugepages-2Mi"])
AMOUNTS = st.one_of(
    st.integers(0, 2_000_000),
    st.integers(0, LARGEST),
    st.integers(0, 2**46),
    st.integers(0, 5000).map(lambda n: n << 20),
)
FORM = re.compile(r"(0|[1-9]\d{0,4})(\.\d{0,2}[1-9])?([kMGTPE]|[KMGTPE]i)?")


@given(RESOURCES, AMOUNTS)
def test_an_amount_reads_one_way_and_is_never_more_than_there_is(resource: str, units: int) -> None:
    text = roughly(resource, units)
    assert FORM.fullmatch(text), text
    assert len(text) <= 7
    read = amount("memory" if resource != "cpu" else resource, text)  # a part of a countable is fine to read
    assert units - units // 100 - 1 <= read <= units
    assert (text == "0") == (units == 0)


@given(RESOURCES, AMOUNTS, AMOUNTS)
def test_what_is_more_never_reads_as_less(resource: str, one: int, other: int) -> None:
    """So no child of the tree seems to deserve more than its parent."""
    fewer, more = sorted((one, other))
    of_fewer, of_more = (
        amount("memory" if resource != "cpu" else resource, roughly(resource, n)) for n in (fewer, more)
    )
    assert of_fewer <= of_more


@given(RESOURCES, AMOUNTS)
def test_a_precise_amount_is_exact_or_has_six_digits(resource: str, units: int) -> None:
    text = precisely(resource, units)
    assert not text.endswith("m")
    read = amount("memory" if resource != "cpu" else resource, text)
    assert units - units // 100_000 - 1 <= read <= units
    assert len(text) <= 10


def test_the_amounts_of_the_issue() -> None:
    assert roughly("cpu", 76_800) == "76.8"
    assert roughly("cpu", 87_200) == "87.2"
    assert roughly("memory", 659_706_976_666) == "614Gi"
    assert roughly("memory", 3500 << 20) == "3.41Gi"
    assert roughly("cpu", 250) == "0.25"
    assert roughly("cpu", 1_234_567) == "1234"
    assert roughly("nvidia.com/gpu", 12_345) == "12345"
    assert roughly("nvidia.com/gpu", 1_234_567) == "1.23M"
    assert str(Resources({"cpu": 87_200, "memory": 659_706_976_666})) == "cpu 87.2, memory 614Gi"
    assert precisely("cpu", 87_200) == "87.2"
    assert precisely("memory", 4097 << 20) == "4097Mi"
    assert precisely("memory", 659_706_976_666) == "614.4Gi"


@given(RESOURCES, AMOUNTS)
def test_machines_read_every_unit(resource: str, units: int) -> None:
    assert amount(resource, quantity_text(resource, units)) == units
