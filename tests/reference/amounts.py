"""Exact amounts of resources."""

from collections.abc import Mapping
from fractions import Fraction


class Amounts(dict[str, Fraction]):
    """An amount per resource; a resource that is not named is 0."""

    def __missing__(self, resource: str) -> Fraction:
        return Fraction(0)

    def plus(self, other: Mapping[str, Fraction]) -> "Amounts":
        """The sum, resource by resource."""
        result = Amounts(self)
        for resource, amount in other.items():
            result[resource] = result[resource] + amount
        return result

    def minus(self, other: Mapping[str, Fraction]) -> "Amounts":
        """The difference, resource by resource."""
        return self.plus({resource: -amount for resource, amount in other.items()})

    def larger(self, other: "Amounts") -> "Amounts":
        """The larger amount, resource by resource."""
        return Amounts(
            {resource: max(self[resource], other[resource]) for resource in self.keys() | other.keys()}
        )

    def asked(self) -> "Amounts":
        """A quantity of 0 asks for nothing; only resources that are asked for are compared."""
        return Amounts({resource: amount for resource, amount in self.items() if amount > 0})


Tables = dict[str, Amounts]  # by queue, node or pod group
