"""Amounts by resource name, as whole numbers: milli-CPU, bytes, and pieces of everything countable."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Self

from maar.core.model.quantity import LARGEST, NANOS, BadQuantityError, Notation, Quantity, parse

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"

_WHOLE: Final = 100_000  # a hundred percent in thousandths
_SHORT: Final = 6  # letters that need no rounding
_NO_DECIMALS: Final = 100
_BYTES: Final = frozenset({MEMORY, "ephemeral-storage", "storage"})


class BadAmountError(ValueError):
    """An amount that cannot be counted, with the resource it was given for."""

    def __init__(self, resource: str, problem: str) -> None:
        super().__init__(f"{resource}: {problem}")
        self.resource, self.problem = resource, problem


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in _BYTES or resource.startswith("hugepages-")


def is_countable(resource: str) -> bool:
    """Whether a resource comes in pieces, such as pods and GPUs."""
    return resource != CPU and not is_bytes(resource)


def units_in_one(resource: str) -> int:
    """How many of our whole units make one of Kubernetes': CPUs are counted in thousandths."""
    return 1_000 if resource == CPU else 1


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Read an amount of a resource in whole units; a fraction of a byte or milli-CPU is rounded up."""
    try:
        quantity = parse(text)
    except BadQuantityError as error:
        raise BadAmountError(resource, str(error)) from None
    if quantity.nanos < 0:
        raise BadAmountError(resource, f"{text!r} is negative: an amount is 0 or more")
    if is_countable(resource) and quantity.nanos % NANOS:
        raise BadAmountError(resource, f"{text!r} is not whole: {resource} comes in whole pieces")
    units = quantity.units(units_in_one(resource))
    if units > LARGEST:
        raise BadAmountError(resource, f"{text!r} is out of range: the largest amount is {LARGEST} units")
    return units


@lru_cache(maxsize=4096)
def shown(resource: str, units: int) -> str:
    """Write an amount as the canonical quantity."""
    notation = Notation.BINARY if is_bytes(resource) else Notation.DECIMAL
    return str(Quantity(units * NANOS // units_in_one(resource), notation))


def roughly(resource: str, units: int) -> str:
    """Write an amount for people: exact where that is short, else to three digits."""
    exact = shown(resource, units)
    if len(exact) <= _SHORT:
        return exact
    steps, size = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1024.0
    if not is_bytes(resource):
        steps, size = ("", "k", "M", "G", "T", "P", "E"), 1000.0
    number, step = units / units_in_one(resource), 0
    while number >= size and step < len(steps) - 1:
        number, step = number / size, step + 1
    return (f"{number:.0f}" if number >= _NO_DECIMALS else f"{number:.3g}") + steps[step]


class Amounts(Mapping[str, int]):
    """An immutable number by name; equal ones share a hash, so they can key a table."""

    __slots__ = ("_by_name", "_hash")

    def __init__(self, by_name: Mapping[str, int] | None = None, /) -> None:
        self._by_name = dict(by_name or {})
        self._hash: int | None = None

    def __getitem__(self, name: str) -> int:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Amounts):
            return self._by_name == other._by_name
        return isinstance(other, Mapping) and self._by_name == dict(other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._by_name.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._by_name!r})"


class Resources(Amounts):
    """Amounts of resources in whole units; what is not named is not limited, asked for or there."""

    __slots__ = ()

    @staticmethod
    def parse(quantities: Mapping[str, object]) -> "Resources":
        """Read a Kubernetes resource list; equal lists give the same object."""
        return _resources(tuple([(name, str(text)) for name, text in quantities.items()]))

    def quantities(self) -> dict[str, str]:
        """Write every amount as its canonical quantity."""
        return {name: shown(name, units) for name, units in self.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name} {text}" for name, text in self.quantities().items()) or "nothing"

    def plus(self, other: Mapping[str, int]) -> Self:
        """Add, resource by resource."""
        return type(self)({name: self.get(name, 0) + other.get(name, 0) for name in {**self, **other}})

    def minus(self, other: Mapping[str, int]) -> Self:
        """Take away, resource by resource; what is not there cannot be taken."""
        return type(self)({name: max(0, units - other.get(name, 0)) for name, units in self.items()})

    def larger(self, other: Mapping[str, int]) -> Self:
        """Take the larger amount, resource by resource."""
        return type(self)({name: max(self.get(name, 0), other.get(name, 0)) for name in {**self, **other}})


class Percentages(Amounts):
    """Parts of a hundred by resource name, in thousandths of a percent: 12.5 is 12,500."""

    __slots__ = ()

    @classmethod
    def parse(cls, quantities: Mapping[str, object]) -> Self:
        """Read percentages such as 20 or "12.5"."""
        return cls({name: cls._percentage(name, str(text)) for name, text in quantities.items()})

    @staticmethod
    def _percentage(name: str, text: str) -> int:
        try:
            quantity = parse(text)
        except BadQuantityError as error:
            raise BadAmountError(name, str(error)) from None
        thousandths = quantity.units(1_000)
        if quantity.nanos < 0 or thousandths > _WHOLE:
            raise BadAmountError(name, f"{text!r} is not a percentage: it is between 0 and 100")
        return thousandths

    def quantities(self) -> dict[str, str]:
        """Write every percentage as people do: 20, 12.5."""
        return {name: f"{thousandths / 1000:g}" for name, thousandths in self.items()}

    def __str__(self) -> str:
        return ", ".join(f"{name} {text} %" for name, text in self.quantities().items()) or "nothing"


@lru_cache(maxsize=4096)
def _resources(quantities: tuple[tuple[str, str], ...]) -> Resources:
    return Resources({name: amount(name, text) for name, text in quantities})
