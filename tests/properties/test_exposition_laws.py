"""The text of gauges with many series is the library's own, in both formats, whatever is in it."""

from collections.abc import Mapping
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.exposition import choose_encoder

from maar.apps.metrics.gauges import GaugeFamily, Gauges
from maar.apps.metrics.queues import QueueCollector
from maar.apps.metrics.registry import Registry
from maar.core.model.metadata import Condition
from maar.core.model.plan import GroupOutcome, NamespaceStanding, PastUseStanding, Plan, QueueStanding
from maar.core.model.reasons import Reason, Refusal
from maar.core.model.resources import Resources

PLAIN = "text/plain"
FORMATS = (
    PLAIN,
    "text/plain;version=1.0.0;escaping=allow-utf-8",
    "application/openmetrics-text;version=1.0.0;escaping=underscores",
    "application/openmetrics-text;version=1.0.0;escaping=dots",
)
names = st.text(min_size=1, max_size=12).filter(lambda name: name.isprintable() or "\n" in name)
numbers = (
    st.floats(min_value=0) | st.integers(0, 1 << 62) | st.sampled_from([inf, 0, 1e6, 999_999.5, 1 << 30])
)
resources = st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", 'od"d\\'])
amounts = st.dictionaries(resources, st.integers(0, 1 << 62), max_size=4).map(Resources)
past_uses = st.none() | st.builds(
    PastUseStanding, factor=st.floats(0, 2), used=st.just(0.5), entitled=st.just(0.5)
)
shares = st.floats(0, 100) | st.just("inf")
namespaces = st.builds(
    NamespaceStanding, weight=st.integers(1, 9), used=amounts, share=shares, past_use=past_uses
)
reduced = Condition(type="GuaranteeReduced", status="True")
standings = st.builds(
    QueueStanding,
    deserved=amounts, real_capability=amounts, allocated=amounts, used=amounts, preempting=amounts,
    request=amounts, guarantee=amounts, share=shares, state=st.just("Open"), weight=st.integers(1, 9),
    parent=st.just("") | names, namespaces=st.dictionaries(names, namespaces, max_size=2), past_use=past_uses,
    history=st.none() | st.just({}), conditions=st.just(()) | st.just((reduced,)),
)  # fmt: skip
outcomes = st.builds(
    GroupOutcome,
    phase=st.sampled_from(["Pending", "Running"]),
    refusal=st.none() | st.builds(Refusal, reason=st.sampled_from(list(Reason))),
)
plans = st.builds(
    Plan,
    queues=st.dictionaries(names, standings, max_size=4),
    pod_groups=st.dictionaries(names, outcomes, max_size=4),
)


def library_text(registry: Registry, accept: str) -> bytes:
    encode, _ = choose_encoder(accept)
    return encode(registry)


@given(st.lists(plans, min_size=1, max_size=3), st.sampled_from(FORMATS))
def test_queues_have_the_text_of_the_library_also_after_other_plans(plans: list[Plan], accept: str) -> None:
    registry, collector = Registry(), QueueCollector({})
    registry.register(collector)
    for plan in plans:
        known = list(collector.plan.queues.items())[:1]  # its standing is the very same object again
        collector.plan = Plan(queues={**plan.queues, **dict(known)}, pod_groups=plan.pod_groups)
        assert registry.exposition(accept)[1] == library_text(registry, accept)


@given(st.dictionaries(names, numbers), st.dictionaries(st.tuples(names, names), numbers), numbers)
def test_any_labels_and_numbers_have_the_text_of_the_library(
    one: Mapping[str, float], two: Mapping[tuple[str, str], float], alone: float
) -> None:
    families = (
        (GaugeFamily("a", "One label.", ("x",)), [((name,), number) for name, number in one.items()]),
        (GaugeFamily("b", "Two labels.", ("x", "y")), list(two.items())),
        (GaugeFamily("c", "No label."), [((), alone)]),
    )
    registry = Registry()
    registry.register(Gauges(lambda: families))
    for accept in FORMATS:
        assert registry.exposition(accept)[1] == library_text(registry, accept)


@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=new", "", "*/*"])
def test_a_scrape_that_asks_for_nothing_known_gets_plain_text(accept: str) -> None:
    registry = Registry()
    registry.register(QueueCollector({}))
    content_type, text = registry.exposition(accept)
    assert content_type.startswith(PLAIN)
    assert text == generate_latest(registry)
