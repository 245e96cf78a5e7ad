"""Which resource of a cluster matters most: the one of which most is wanted, measured by what there is."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from maar.core.model.resources import CPU, MEMORY, PODS


def most_wanted(resources: Iterable[str], total: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    """The resource whose wanted part of the total is largest; of equals CPUs come first, then memory."""
    usual = (CPU, MEMORY)

    def key(resource: str) -> tuple[Fraction, int, str]:
        part = Fraction(wanted.get(resource, 0), total[resource]) if total.get(resource) else Fraction(-1)
        place = usual.index(resource) if resource in usual else len(usual)
        return -part, place, resource

    return min((resource for resource in resources if resource != PODS), key=key, default=CPU)
