"""The amounts in sentences, of all the resources that are short."""

from collections.abc import Callable, Iterable

from maar.core.model.reasons import Refusal, Shortage
from maar.core.model.resources import roughly


def listed_shortages(shortages: Iterable[Shortage], write: Callable[[Shortage], str]) -> str:
    """All of them, one after the other."""
    return ", ".join(map(write, shortages))


def amount_text(one: Shortage, units: int) -> str:
    """An amount of the resource that is short."""
    return roughly(one.resource, units)


def used_of(one: Shortage, word: str) -> str:
    """How much of a limit is used."""
    return f"{one.resource} {amount_text(one, one.used)} of {amount_text(one, one.limit)} {word}"


def used_of_limit(one: Shortage) -> str:
    """A limit, and how much of it is used."""
    return f"{one.resource} {amount_text(one, one.limit)}, of which {amount_text(one, one.used)} is used"


def fullness(one: Shortage, word: str) -> str:
    """How much of a limit is used, and how much more is wanted."""
    return f"{used_of(one, word)}, {amount_text(one, one.wanted)} more wanted"


def needs(refusal: Refusal) -> str:
    """What is wanted of everything that is short."""
    return listed_shortages(refusal.shortages, lambda one: f"{one.resource} {amount_text(one, one.wanted)}")


def most(refusal: Refusal) -> str:
    """The limits of everything that is short."""
    return listed_shortages(refusal.shortages, lambda one: f"{one.resource} {amount_text(one, one.limit)}")


def left(refusal: Refusal) -> str:
    """What is wanted and what is left of everything that is short."""
    return listed_shortages(
        refusal.shortages,
        lambda one: (
            f"{one.resource} {amount_text(one, one.wanted)} wanted, {amount_text(one, one.available)} left"
        ),
    )
