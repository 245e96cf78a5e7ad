"""Amounts by resource name, as whole numbers: milli-CPU, bytes, and pieces of everything countable."""

from collections.abc import ItemsView, Iterator, Mapping
from functools import lru_cache
from typing import Final, Self

from maar.core.model.quantity import LARGEST, NANOS, BadQuantityError, Notation, Quantity, parse

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"

_WHOLE: Final = 100_000  # a hundred percent in thousandths
_SHORT: Final = 9  # letters that need no rounding
_FEW_DIGITS: Final = 3
_MANY_DIGITS: Final = 6
_ALL_DIGITS: Final = 19
_PLAIN: Final = 100_000  # whole numbers below it need no suffix
_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BYTES: Final = frozenset({MEMORY, "ephemeral-storage", "storage"})
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_COUNT: Final = "count/"
_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
_OBJECTS: Final = frozenset({
    "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services",
    "services.loadbalancers", "services.nodeports", "storage",
})  # fmt: skip


class BadAmountError(ValueError):
    """An amount that cannot be counted, with the resource it was given for."""

    def __init__(self, resource: str, problem: str) -> None:
        super().__init__(f"{resource}: {problem}")
        self.resource, self.problem = resource, problem


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    limited = _limited(resource)
    return limited in _BYTES or limited.startswith("hugepages-")


def is_countable(resource: str) -> bool:
    """Whether a resource comes in pieces, such as pods and GPUs."""
    return _limited(resource) != CPU and not is_bytes(resource)


def units_in_one(resource: str) -> int:
    """How many of our whole units make one of Kubernetes': CPUs are counted in thousandths."""
    return 1_000 if _limited(resource) == CPU else 1


def _limited(name: str) -> str:
    """The resource that a name of quotas limits, such as `requests.cpu`; any other name is the resource's."""
    return name.removeprefix(_REQUESTS).removeprefix(_LIMITS)


def is_of_pods(name: str) -> bool:
    """Whether pods can ask for it: not a name that only quotas have."""
    is_of_quotas = name.startswith((_REQUESTS, _LIMITS, _COUNT)) or _STORAGE_CLASS in name
    return not is_of_quotas and name not in _OBJECTS


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
def quantity_text(resource: str, units: int) -> str:
    """Write an amount for machines: exactly, as the canonical quantity of Kubernetes."""
    notation = Notation.BINARY if is_bytes(resource) else Notation.DECIMAL
    return str(Quantity(units * NANOS // units_in_one(resource), notation))


@lru_cache(maxsize=4096)  # messages have the same amounts again and again
def roughly(resource: str, units: int) -> str:
    """Write an amount for people: 76.8, 614Gi, 0.25; to three digits, and whole numbers to five.

    Amounts of one resource keep their order when they are written so, and none reads as more than it is.
    """
    return _decimal(resource, units, _FEW_DIGITS)


def precisely(resource: str, units: int) -> str:
    """Write an amount that people compare with another: exactly where that is short, else to six digits."""
    exact = quantity_text(resource, units) if is_bytes(resource) else _decimal(resource, units, _ALL_DIGITS)
    return exact if len(exact) <= _SHORT else _decimal(resource, units, _MANY_DIGITS)


def _decimal(resource: str, units: int, digits: int) -> str:
    """Write an amount with its largest suffix and so many digits, rounded down; whole numbers lose none."""
    base, suffixes = (1024, _BINARY) if is_bytes(resource) else (1000, _DECIMAL)
    scale, step, most = units_in_one(resource), 0, base if is_bytes(resource) else _PLAIN
    while units >= scale * most and step < len(suffixes) - 1:
        scale, step, most = scale * base, step + 1, base
    decimals = max(0, digits - len(str(units // scale)) + (units < scale))
    whole, part = divmod(units * 10**decimals // scale, 10**decimals)
    text = f"{whole}.{part:0{decimals}}".rstrip("0").removesuffix(".") if part else str(whole)
    return text + suffixes[step]


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

    def items(self) -> ItemsView[str, int]:
        """What is named, with its amounts; several times as fast as what Mapping has."""
        return self._by_name.items()

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
        return _resources(tuple(quantities), tuple(map(str, quantities.values())))

    def quantities(self) -> dict[str, str]:
        """Write every amount as its canonical quantity."""
        return {name: quantity_text(name, units) for name, units in self.items()}

    def __str__(self) -> str:
        """Write every amount as people read it."""
        return ", ".join(f"{name} {roughly(name, units)}" for name, units in self.items()) or "nothing"

    def summary(self) -> str:
        """Write what people look at first, as a column: CPUs and memory, and the devices that there are."""
        devices = [name for name, units in self.items() if "/" in name and units]
        names = [name for name in (CPU, MEMORY) if name in self] + sorted(devices)
        return ",".join(f"{name}={roughly(name, self[name])}" for name in names)

    def plus(self, other: Mapping[str, int]) -> Self:
        """Add, resource by resource."""
        return type(self)({name: self.get(name, 0) + other.get(name, 0) for name in {**self, **other}})

    def minus(self, other: Mapping[str, int]) -> Self:
        """Take away, resource by resource; what is not there cannot be taken."""
        return type(self)({name: max(0, units - other.get(name, 0)) for name, units in self.items()})

    def larger(self, other: Mapping[str, int]) -> Self:
        """Take the larger amount, resource by resource."""
        return type(self)({name: max(self.get(name, 0), other.get(name, 0)) for name in {**self, **other}})


@lru_cache(maxsize=4096)
def of_pods(amounts: Resources) -> Resources:
    """What pods can ask for: `requests.x` stands for x where that is not named, other quota names go.

    Volcano's job controller writes both into `minResources`.
    """
    if all(map(is_of_pods, amounts)):
        return amounts
    requested = {
        name.removeprefix(_REQUESTS): units for name, units in amounts.items() if name.startswith(_REQUESTS)
    }
    return Resources({name: units for name, units in {**requested, **amounts}.items() if is_of_pods(name)})


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
def _resources(names: tuple[str, ...], texts: tuple[str, ...]) -> Resources:
    return Resources({name: amount(name, text) for name, text in zip(names, texts, strict=True)})
