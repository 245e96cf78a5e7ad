"""The quota manager: what a queue is allocated, divided among its namespaces."""

from hypothesis import given
from hypothesis import strategies as st

from maar.core.controllers.quotas import QUOTA_NAME, NamespaceQuotas
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Metadata
from maar.core.model.namespace import QUOTA_LABEL, Namespace, QuotaSpec, ResourceQuota
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec, QueueStatus
from maar.core.model.resources import Resources
from maar.core.model.writes import Create, Delete, Patch
from support.controller_runs import Controlled

QUEUE = "scheduling.volcano.sh/queue-name"


def queue(name: str, allocated: dict[str, str], request: dict[str, str] | None) -> Event:
    return Upserted(
        object=Queue(
            metadata=QueueMetadata(name=name),
            spec=QueueSpec(request=None if request is None else Resources.parse(request)),
            status=QueueStatus(allocated=Resources.parse(allocated)),
        )
    )


def namespace(name: str, queue: str = "q") -> Event:
    return Upserted(object=Namespace(metadata=Metadata(name=name, annotations={QUEUE: queue})))


def weight(name: str, value: int) -> Event:
    hard: dict[str, str | int | float] = {"volcano.sh/namespace.weight": value}
    metadata = Metadata(name="weight", namespace=name)
    return Upserted(object=ResourceQuota(metadata=metadata, spec=QuotaSpec(hard=hard)))


def ours(name: str, hard: dict[str, str | int | float], of: str = "q") -> Event:
    metadata = Metadata(name=QUOTA_NAME, namespace=name, uid=f"uid-{name}", labels={QUOTA_LABEL: of})
    return Upserted(object=ResourceQuota(metadata=metadata, spec=QuotaSpec(hard=hard)))


def made(*events: Event) -> dict[str, object]:
    manager = Controlled(NamespaceQuotas())
    manager.feed(events)
    writes = manager.reconcile()
    return {write.key: write.document["spec"] for write in writes if isinstance(write, Create)}


def test_namespaces_share_by_weight() -> None:
    request = {"cpu": "16", "memory": "8Gi"}
    found = made(
        queue("q", {"cpu": "8", "memory": "4Gi", "pods": "3"}, request),
        namespace("a"),
        namespace("b"),
        weight("b", 3),
    )
    assert found == {
        "a/maar-queue": {"hard": {"requests.cpu": "2", "requests.memory": "1Gi"}},
        "b/maar-queue": {"hard": {"requests.cpu": "6", "requests.memory": "3Gi"}},
    }


def test_a_queue_that_does_not_declare_its_request_gets_no_quotas() -> None:
    assert made(queue("q", {"cpu": "8"}, None), namespace("a")) == {}


def test_quotas_go_with_the_declared_request_and_with_the_annotation() -> None:
    manager = Controlled(NamespaceQuotas())
    manager.feed([queue("q", {"cpu": "8"}, {"cpu": "8"}), namespace("a"), ours("a", {"requests.cpu": "8"})])
    assert manager.reconcile() == []
    gone = [Delete(kind="ResourceQuota", key="a/maar-queue", uid="uid-a")]
    manager.feed([queue("q", {"cpu": "8"}, None)])
    assert manager.reconcile() == gone
    manager.feed([queue("q", {"cpu": "8"}, {"cpu": "8"}), namespace("a", queue="")])
    assert manager.reconcile() == gone


def test_a_deleted_quota_comes_back_and_a_changed_one_is_set_right() -> None:
    manager = Controlled(NamespaceQuotas())
    manager.feed(
        [
            queue("q", {"cpu": "8"}, {"cpu": "8"}),
            namespace("a"),
            ours("a", {"requests.cpu": "100", "pods": "1"}),
        ]
    )
    (change,) = manager.reconcile()
    assert isinstance(change, Patch)
    assert change.patch["spec"] == {"hard": {"requests.cpu": "8", "pods": None}}
    manager.feed([Deleted(kind="ResourceQuota", key="a/maar-queue")])
    assert isinstance(manager.reconcile()[0], Create)


def settle(manager: Controlled, hard: dict[str, dict[str, str]]) -> list[dict[str, dict[str, str]]]:
    """Carry out what is wanted, one write at a time, until nothing is; give the limits after each."""
    seen: list[dict[str, dict[str, str]]] = []
    for _ in range(10):
        writes = manager.reconcile()
        if not writes:
            return seen
        for write in writes:
            name = write.key.partition("/")[0]
            assert isinstance(write, Create | Patch)
            spec = write.document["spec"] if isinstance(write, Create) else write.patch["spec"]
            new = {**hard.get(name, {}), **spec["hard"]}  # type: ignore[index]
            hard[name] = {resource: text for resource, text in new.items() if text is not None}
            seen.append({one: dict(limits) for one, limits in hard.items()})
            manager.feed([ours(name, {**hard[name]})])
    raise AssertionError("it does not come to rest")


def test_limits_that_shrink_are_written_before_those_that_grow() -> None:
    manager = Controlled(NamespaceQuotas())
    hard = {
        "a": {"requests.cpu": "2", "requests.memory": "6"},
        "b": {"requests.cpu": "6", "requests.memory": "2"},
    }
    manager.feed(
        [
            queue("q", {"cpu": "8", "memory": "8"}, {"cpu": "8", "memory": "8"}),
            *(namespace(name) for name in "abc"),
            weight("a", 2),
            *(ours(name, {**limits}) for name, limits in hard.items()),
        ]
    )
    for limits in settle(manager, hard):
        for resource in ("requests.cpu", "requests.memory"):
            assert sum(int(one.get(resource, 0)) for one in limits.values()) <= 8, limits
    assert hard == {
        "a": {"requests.cpu": "4", "requests.memory": "4"},
        "b": {"requests.cpu": "2", "requests.memory": "2"},
        "c": {"requests.cpu": "2", "requests.memory": "2"},
    }


@given(
    st.integers(0, 10**6),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 1000), min_size=1),
)
def test_parts_are_whole_and_together_what_the_queue_has(milli: int, weights: dict[str, int]) -> None:
    found = made(
        queue("q", {"cpu": f"{milli}m"}, {"cpu": "1"}),
        *(namespace(name) for name in weights),
        *(weight(name, value) for name, value in weights.items()),
    )
    parts = [
        Resources.parse({"cpu": spec["hard"]["requests.cpu"]})["cpu"]  # type: ignore[index]
        for spec in found.values()
    ]
    assert sum(parts) == milli
    total = sum(weights.values())
    for key, part in zip(found, parts, strict=True):
        assert abs(part - milli * weights[key[0]] / total) < 1
