"""Laws of the configuration: whatever plain data comes in is read or refused, and nothing else happens."""

from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maar.core.policy.configuration import BadConfigurationError, Configuration, parse
from maar.core.policy.grammar import ACTION_ARGUMENTS, ACTIONS, PLUGINS, SWITCHES, Argument
from maar.core.policy.plugin_hooks import PluginHooks
from maar.core.policy.values import (
    boolean,
    duration,
    ignored,
    names,
    nonnegative_number,
    number,
    positive,
    positive_duration,
    whole,
)
from properties.how_many import cases

WORDS = (
    "actions", "tiers", "plugins", "configurations", "metrics", "name", "arguments", "enqueue, allocate",
    "true", "10", "60s", "binpack.resources.x", "x, y", "mine", "sla", *ACTIONS, *PLUGINS, *SWITCHES,
    *(name for known in ACTION_ARGUMENTS.values() for name in known),
    *(name for known in PLUGINS.values() for name in known.arguments),
)  # fmt: skip

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**40, max_value=10**5000)
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(WORDS)
    | st.binary(max_size=4)
    | st.just(date(2026, 8, 1))
)
keys = st.sampled_from(WORDS) | st.text(st.characters()) | st.integers() | st.none() | st.booleans()
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


FITTING: dict[object, st.SearchStrategy[object]] = {
    boolean: st.sampled_from([True, False, "true", "False"]),
    whole: st.integers(0, 100) | st.just("7"),
    positive: st.integers(1, 100) | st.just("7"),
    number: st.floats(0.5, 10) | st.just("1.5"),
    duration: st.sampled_from(["60s", "1h30m", 90, "90"]),
    names: st.sampled_from(["", "x", "x, cpu"]),
    positive_duration: st.sampled_from(["24h", "90", 1]),
    nonnegative_number: st.floats(0, 10) | st.just("0"),
    ignored: anything,
}


def mostly(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """What belongs there, and now and then anything."""
    return st.integers(0, 29).flatmap(lambda rng: anything if rng == 0 else strategy)


def owner(name: str, known: Mapping[str, Argument]) -> st.SearchStrategy[object]:
    """A plugin or an action with some of its arguments."""
    fitting = {key.replace("<name>", "x"): mostly(FITTING[one.read]) for key, one in known.items()}
    return st.fixed_dictionaries(
        {"name": st.just(name)}, optional={"arguments": st.fixed_dictionaries({}, optional=fitting)}
    )


def switched(plugin: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """A plugin with some switches."""
    switches = st.dictionaries(st.sampled_from(list(SWITCHES)), mostly(FITTING[boolean]), max_size=2)
    return st.tuples(plugin, switches).map(lambda both: {**both[1], **dict(both[0])})  # type: ignore[call-overload]


def some(owners: list[st.SearchStrategy[object]]) -> st.SearchStrategy[list[object]]:
    """Some of them, in any order, mostly each of them once."""
    chosen = st.lists(st.sampled_from(range(len(owners))), max_size=4, unique=True)
    once = chosen.flatmap(lambda places: st.tuples(*(mostly(owners[place]) for place in places)).map(list))
    return once | st.lists(st.one_of(owners), max_size=3)


plugins = some(
    [switched(owner(name, known.arguments)) for name, known in PLUGINS.items()] + [owner("mine", {})]
)
documents = mostly(
    st.fixed_dictionaries(
        {},
        optional={
            "actions": mostly(st.lists(st.sampled_from(ACTIONS), min_size=1).map(", ".join)),
            "tiers": mostly(st.lists(mostly(st.fixed_dictionaries({"plugins": plugins})), max_size=2)),
            "configurations": mostly(some([owner(name, ACTION_ARGUMENTS[name]) for name in ACTIONS])),
            "metrics": mostly(st.dictionaries(st.text(), st.text(), max_size=2)),
        },
    )
)


def attempt(document: object) -> Configuration | tuple[str, ...]:
    """Give the configuration, or the problems."""
    try:
        return parse(document, {"mine": lambda _: PluginHooks()})
    except BadConfigurationError as error:
        return error.problems


@settings(max_examples=cases(500))
@given(documents | anything)
@example(10**5000)
@example({"actions": 10**5000, "metrics": {"a": 10**5000}})
@example({10**5000: 1, float("nan"): 2, "\ud800": 3, "x" * 10**6: 4})
def test_whatever_comes_in_is_read_or_refused_with_a_problem(document: object) -> None:
    outcome = attempt(document)
    if isinstance(outcome, Configuration):
        assert outcome.actions
        assert outcome.overcommit_factor >= 1
        assert outcome.grace_seconds >= 0
        assert all(weight >= 0 for weight in outcome.binpack.resources.values())
        assert outcome.node_order.node_affinity >= 0
        assert isinstance(outcome.predicates.node_ports, bool)
        assert len({one.name for one in outcome.plugins}) == len(outcome.plugins)
        assert list(outcome.plugins) == sorted(outcome.plugins, key=lambda one: one.tier)
        assert all(outcome.warnings)
        assert outcome.usage is None or (outcome.usage.half_life_s > 0 and outcome.usage.strength >= 0)
    else:
        assert outcome
        assert all(problem.isprintable() and len(problem) < 2000 for problem in outcome)


@settings(max_examples=cases(200))
@given(documents)
def test_the_same_data_gives_the_same_answer(document: object) -> None:
    assert attempt(document) == attempt(document)


def test_data_that_contains_itself_is_refused_too() -> None:
    knot: dict[str, object] = {}
    knot["tiers"] = [knot]
    with pytest.raises(BadConfigurationError, match=r"tiers\[0\]\.tiers: unknown key 'tiers'"):
        parse(knot)


def test_data_that_is_nested_deeply_is_refused_too() -> None:
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadConfigurationError, match="tiers: a map is not a list"):
        parse({"tiers": {"a": deep}, "actions": deep})
