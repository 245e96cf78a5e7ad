"""Objects as API servers send them: what is read, what is passed over, and how a wrong one is reported."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, cast

import msgspec
import pytest

from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import (
    KINDS,
    BadObjectError,
    ObjectT,
    from_document,
    from_json,
    kind_of,
    plain,
    to_json,
)
from maar.core.model.metadata import Condition, Metadata, Object, mark
from maar.core.model.namespace import ResourceQuota
from maar.core.model.node import Node
from maar.core.model.plan import GroupOutcome, NamespaceStanding, PastUseStanding, Plan, QueueStanding
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.model.resources import Amounts, Percentages, Resources
from maar.core.model.workload import BatchJob
from maar.core.model.writes import Bind, BindVolume, Evict, Nominate, SelectNode, Write
from support.sent import MANAGED, SENT


def as_sent(kind: type[ObjectT]) -> ObjectT:
    return from_json(kind, document(kind))


def document(kind: type[Object]) -> bytes:
    return SENT[kind].replace(b"MANAGED", MANAGED)


def is_part_of(part: object, whole: object) -> bool:
    """Whether everything that a document says stands in another too."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(is_part_of(value, whole.get(key)) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list) and len(part) == len(whole):
        return all(map(is_part_of, part, whole))
    return part == whole


def fields_that_say_something(value: object) -> Iterator[tuple[type[msgspec.Struct], str]]:
    """Find every record below a value, and its fields that are not as they are by default."""
    if isinstance(value, msgspec.Struct):
        yield type(value), ""
        for field in msgspec.structs.fields(value):
            inner = getattr(value, field.name)
            if inner not in (field.default, None, (), {}):
                yield type(value), field.name
                yield from fields_that_say_something(inner)
    elif isinstance(value, tuple):
        yield from chain.from_iterable(map(fields_that_say_something, value))
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(fields_that_say_something, value.values()))


def again(value: object, kind: Any) -> Any:  # noqa: ANN401 - a union of types has no type
    def amounts(kind: Any, read: Any) -> object:  # noqa: ANN401 - as msgspec has it
        return kind.parse(read) if issubclass(kind, Amounts) else read

    return msgspec.json.decode(to_json(value), type=kind, dec_hook=amounts)


def refused(kind: type[Object], read: dict[str, object]) -> BadObjectError:
    """Expect the same refusal of plain values and of their JSON."""
    with pytest.raises(BadObjectError) as of_document:
        from_document(kind, read)
    with pytest.raises(BadObjectError) as of_json:
        from_json(kind, msgspec.json.encode(read))
    assert str(of_json.value) == str(of_document.value)
    return of_json.value


def test_the_examples_are_of_every_kind_and_say_something_in_every_field() -> None:
    assert set(SENT) == set(KINDS)
    printed = set(chain.from_iterable(fields_that_say_something(as_sent(kind)) for kind in KINDS))
    records = {record for record, _ in printed}
    for record in records:
        inherited = {
            name for base in record.__mro__[1:] if base in records for name in base.__struct_fields__
        }
        names = {name for of, name in printed if of is record}
        assert names | inherited == {"", *record.__struct_fields__}, record


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_what_was_sent_and_what_is_written(kind: type[Object]) -> None:
    read, plain = as_sent(kind), msgspec.json.decode(document(kind))
    assert is_part_of(msgspec.json.decode(to_json(read)), plain)
    assert from_json(kind, to_json(read)) == read
    assert from_document(kind, plain) == read


@pytest.mark.parametrize("kind", KINDS)
def test_null_is_unset_at_any_depth(kind: type[Object]) -> None:
    read = msgspec.json.decode(document(kind))
    hollow = {name: dict.fromkeys(read[name]) for name in ("metadata", "spec", "status") if name in read}
    assert from_json(kind, msgspec.json.encode({**dict.fromkeys(read), **hollow})) == kind()


def test_amounts_and_times_are_read_into_whole_units_and_moments() -> None:
    node = as_sent(Node)
    assert dict(node.status.allocatable) == {
        "cpu": 7500, "ephemeral-storage": 95_551_679_124, "hugepages-1Gi": 0, "memory": 30 * 2**30,
        "pods": 110, "nvidia.com/gpu": 8,
    }  # fmt: skip
    assert node.metadata.creation_timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert as_sent(Queue).spec.guarantee.percentage == Percentages({"memory": 12_500})
    queue = from_json(Queue, b'{"spec":{"capability":{"cpu":null,"memory":"1Gi"}}}')
    assert queue.spec.capability == Resources({"memory": 2**30})


def test_objects_are_named_and_answer_as_people_expect() -> None:
    assert as_sent(Pod).key == "ml/train-worker-0"
    assert from_json(Pod, b'{"metadata":{"name":"a"}}').key == "default/a"
    assert from_json(Node, b'{"metadata":{"name":"n1","namespace":"odd"}}').key == "n1"
    assert as_sent(Pod).is_terminating
    assert not as_sent(Node).is_terminating
    assert not as_sent(Pod).is_finished
    assert from_json(Pod, b'{"status":{"phase":"Failed"}}').is_finished
    assert as_sent(Node).is_ready
    for condition in (b'{"type":"DiskPressure","status":"True"}', b'{"type":"Ready","status":"Unknown"}'):
        assert not from_json(Node, b'{"status":{"conditions":[' + condition + b"]}}").is_ready
    assert [as_sent(Queue).parent, Queue().parent] == ["company", "root"]


def test_a_mark_may_be_an_annotation_or_a_label_and_the_annotation_wins() -> None:
    both = Metadata(labels={"m": "label", "n": "label"}, annotations={"m": "annotation"})
    assert [mark(both, name) for name in "mno"] == ["annotation", "label", None]


@pytest.mark.parametrize(
    ("written", "weight"),
    [("3", 3), (7, 7), ("0", 1), ("-2", 1), ("1500m", 1), ("many", 1), ("1k", 1000), ("2e3", 2000)],
)
def test_a_quota_gives_its_namespace_a_weight(written: object, weight: int) -> None:
    """The API server writes 1000 as 1k."""
    quota = from_document(ResourceQuota, {"spec": {"hard": {"volcano.sh/namespace.weight": written}}})
    assert quota.weight == weight
    assert ResourceQuota().weight == 1


@pytest.mark.parametrize(
    ("kind", "read", "path", "problem"),
    [
        (Pod, {"spec": {"containers": [{}, {"resources": {"requests": {"cpu": "2c"}}}]}},
         "spec.containers[1].resources.requests.cpu", "'2c' is not a quantity"),
        (Pod, {"spec": {"initContainers": [{"resources": {"limits": {"nvidia.com/gpu": 0.5}}}]}},
         "spec.initContainers[0].resources.limits.nvidia.com/gpu", "'0.5' is not whole"),
        (Pod, {"spec": {"overhead": {"memory": [1]}}}, "spec.overhead.memory", "'[1]' is not a quantity"),
        (Pod, {"spec": {"overhead": 5}}, "spec.overhead", "map of amounts"),
        (Pod, {"spec": {"containers": {}}}, "spec.containers", "expected `array`, got `object`"),
        (Pod, {"spec": {"containers": [{}, 5]}}, "spec.containers[1]", "expected `object`, got `int`"),
        (Pod, {"spec": {"volumes": [{"hostPath": {}}]}}, "spec.volumes[0]", "missing required field `name`"),
        (Pod, {"status": {"phase": "Lost"}}, "status.phase", "'Lost'"),
        (Pod, {"metadata": {"creationTimestamp": "today"}}, "metadata.creationTimestamp", "RFC3339"),
        (Pod, {"metadata": {"labels": {"a": "", "v": 1}}}, "metadata.labels.v", "expected `str`, got `int`"),
        (Pod, {"kind": "Node"}, "kind", "'Node'"),
        (Node, {"spec": {"taints": [{"key": "a"}, {}]}}, "spec.taints[1]", "missing required field `key`"),
        (Node, {"status": {"allocatable": {"cpu": "-1"}}}, "status.allocatable.cpu", "'-1' is negative"),
        (Queue, {"spec": {"weight": "3"}}, "spec.weight", "expected `int`, got `str`"),
        (Queue, {"spec": {"reclaimable": "no"}}, "spec.reclaimable", "expected `bool`, got `str`"),
        (Queue, {"spec": {"capability": {"cpu": "1e400"}}}, "spec.capability.cpu", "'1e400' is out of range"),
        (Queue, {"spec": {"guarantee": {"percentage": {"a": 120}}}}, "spec.guarantee.percentage.a", "'120'"),
        (PodGroup, {"spec": {"minTaskMember": {"a": "2"}}}, "spec.minTaskMember.a", "expected `int`"),
        (Job, {"spec": {"tasks": [{"replicas": "2"}]}}, "spec.tasks[0].replicas", "expected `int`"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_its_path(
    kind: type[Object], read: dict[str, object], path: str, problem: str
) -> None:
    refusal = refused(kind, read)
    assert refusal.path == path
    assert problem in refusal.problem
    assert " at `" not in refusal.problem
    assert str(refusal) == f"{path}: {refusal.problem}"


@pytest.mark.parametrize(
    "sent",
    [b"", b"{", b"null", b"[]", b"5", b'"a"', b"\xff", b'{"metadata":{"name":"\xff"}}', b"{}{}", b"NaN"],
)
def test_what_is_no_object_is_refused_without_a_path(sent: bytes) -> None:
    with pytest.raises(BadObjectError) as refusal:
        from_json(Queue, sent)
    assert refusal.value.path == ""


@pytest.mark.parametrize("retries", [b"5", b"null"])
def test_nesting_without_end_is_refused_like_any_bad_object(retries: bytes) -> None:
    template = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    with pytest.raises(BadObjectError):
        from_json(Job, b'{"spec":{"maxRetry":' + retries + b',"tasks":[{"template":' + template + b"}]}}")


@pytest.mark.parametrize("name", [None, 1, True, 1.5])
def test_a_resource_has_a_text_for_a_name(name: object) -> None:
    """YAML lets people write keys of any type."""
    with pytest.raises(BadObjectError) as refusal:
        from_document(Queue, {"spec": {"capability": {name: "1"}}})
    assert refusal.value.path.startswith("spec.capability")


def test_a_time_without_a_zone_is_refused_as_kubernetes_does() -> None:
    """It would not compare with any other time."""
    refusal = refused(Node, {"metadata": {"creationTimestamp": "2026-03-01T10:00:00"}})
    assert refusal.path == "metadata.creationTimestamp"


def test_kinds_are_found_by_group_version_and_kind() -> None:
    for kind in KINDS:
        read = msgspec.json.decode(document(kind))
        assert kind_of(read["apiVersion"], read["kind"]) is kind
    assert kind_of("apps/v1", "Deployment") is None
    assert kind_of("v1", "pod") is None
    assert kind_of("batch/v1", "Job") is BatchJob  # that of Kubernetes, not that of Volcano


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_that_appeared_reads_as_the_same_event(kind: type[Object]) -> None:
    event = Upserted(object=cast("AnyObject", as_sent(kind)))
    assert msgspec.json.decode(to_json(event))["event"] == "Upserted"
    assert again(event, Event) == event
    assert type(again(event, Event).object) is kind


@pytest.mark.parametrize("share", [0.5, 0.0, "inf"])
def test_a_plan_that_is_written_reads_as_the_same_plan(share: float) -> None:
    """A queue that uses something and deserves nothing has an infinite share."""
    some, none = Resources({"cpu": 1500, "memory": 2**30}), Resources()
    overused = Condition(type="Overused", status="True", last_transition_time=datetime.now(UTC))
    past_use = PastUseStanding(factor=0.84, used=0.6, entitled=0.5, resource="cpu", half_life="24h")
    standing = QueueStanding(
        deserved=some, real_capability=some, allocated=some, used=none, preempting=none, share=share,
        state="Open", binding={"cpu": "fair share", "memory": "parent"}, conditions=(overused,),
        namespaces={"ml": NamespaceStanding(weight=3, used=some, share=share, past_use=past_use)},
        past_use=past_use, history={"time": "2026-03-01T10:00:00Z", "used": {"cpu": "12.5"}},
    )  # fmt: skip
    shortage = Shortage(resource="cpu", wanted=5, used=1, limit=3)
    refusal = Refusal(
        reason=Reason.QUEUE_AT_CAPABILITY, cure=Cure.LIMIT_CHANGES, more_nodes_help=True, queue="a",
        shortages=(shortage,), others=("b",), nodes=3, clauses=((2, "lack cpu"),), until=1780318615.5,
    )  # fmt: skip
    plan = Plan(
        queues={"a": standing},
        binds=(Bind(pod="ml/a", node="n1"),),
        evictions=(Evict(pod="ml/b", action="reclaim", beneficiary="ml/g"),),
        nominations=(Nominate(pod="ml/d", node="n2"),),
        selections=(
            SelectNode(claim="ml/data", node="n1"),
            BindVolume(volume="v", claim="ml/more", node="n1", uid="u", version="7"),
        ),
        pod_groups={
            "ml/g": GroupOutcome(phase="Pending", refusal=refusal, message="m", is_unschedulable=True)
        },
    )
    assert again(plan, Plan) == plan


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        (Deleted(kind="Pod", key="a/b"), Event, b'{"event":"Deleted","kind":"Pod","key":"a/b"}'),
        (Bind(pod="a/b", node="c"), Write, b'{"write":"Bind","pod":"a/b","node":"c"}'),
        (Evict(pod="a/b", action="cleanup"), Write, b'{"write":"Evict","pod":"a/b","action":"cleanup"}'),
        (Nominate(pod="a/b", node="c"), Write, b'{"write":"Nominate","pod":"a/b","node":"c"}'),
        (SelectNode(claim="a/b", node="c"), Write, b'{"write":"SelectNode","claim":"a/b","node":"c"}'),
        (
            BindVolume(volume="v", claim="a/b", node="c"),
            Write,
            b'{"write":"BindVolume","volume":"v","claim":"a/b","node":"c"}',
        ),
    ],
)
def test_events_and_writes_are_told_from_others_by_their_tag(
    value: Event | Write, kind: object, written: bytes
) -> None:
    assert to_json(value) == written
    assert again(value, kind) == value


def test_what_has_no_form_in_json_is_not_written() -> None:
    with pytest.raises(TypeError, match="has no form in JSON"):
        to_json(object())


def test_the_template_of_a_task_is_decoded_for_those_who_ask_for_it() -> None:
    sent = b'{"kind": "Job", "spec": {"tasks": [{"name": "t", "template": {"spec": {"a": [1, 2]}}}]}}'
    (task,) = from_json(Job, sent).spec.tasks
    assert vars(task) == {}
    assert task.template == {"spec": {"a": [1, 2]}}
    assert task.template is task.template
    assert from_document(Job, plain(sent)).spec.tasks[0].template == task.template
    assert from_json(Job, to_json(from_json(Job, sent))).spec.tasks == (task,)


def test_a_template_keeps_nothing_of_the_page_that_it_came_in() -> None:
    page = b"[" + b'{"kind": "Job", "spec": {"tasks": [{"template": {}}]}}' + b" " * 10_000 + b"]"
    (item,) = msgspec.json.decode(page, type=list[msgspec.Raw])
    written = from_json(Job, item).spec.tasks[0].written
    assert written.copy() is written


@pytest.mark.parametrize("read", [from_json, lambda kind, sent: from_document(kind, plain(sent))])
@pytest.mark.parametrize(("written", "shown"), [(b"3", "int"), (b"[]", "array"), (b'"{}"', "str")])
def test_a_template_that_is_no_object_is_named(
    read: Callable[[type[Job], bytes], Job], written: bytes, shown: str
) -> None:
    sent = b'{"kind": "Job", "spec": {"tasks": [{"name": "t"}, {"template": %b}]}}' % written
    with pytest.raises(BadObjectError) as refused:
        read(Job, sent)
    assert str(refused.value) == f"spec.tasks[1].template: expected `object`, got `{shown}`"


def test_a_template_that_is_null_is_not_set() -> None:
    sent = b'{"kind": "Job", "spec": {"tasks": [{"name": "t", "template": null}]}}'
    assert from_json(Job, sent).spec.tasks[0].template == {}
