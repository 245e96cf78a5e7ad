"""Snapshots: rows become objects again, nothing that decisions read is lost, and nothing else is told."""

import gzip
import importlib
import json
import pkgutil
from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings

from maar.apps.scheduler.scheduler import WATCHED
from maar.apps.snapshots.configuration import as_document
from maar.apps.snapshots.files import Snapshot, UnreadableSnapshotError, read, write
from maar.apps.snapshots.plan import first_difference
from maar.core import model
from maar.core.model.events import Upserted
from maar.core.model.kinds import from_document, to_json
from maar.core.model.metadata import Metadata, Object
from maar.core.model.namespace import Namespace
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.workload import BatchJob
from maar.core.policy.configuration import Configuration, parse
from maar.core.policy.plugin_hooks import PluginHooks
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables
from maar.core.views.objects import PLAIN, Seen
from maar.core.views.reduced_objects import reduced
from properties.test_configuration_laws import attempt, documents

NOW = datetime(2026, 11, 16, 4, 0, 0, 123456, tzinfo=UTC)
SECRET = "hunter2"  # noqa: S105  so that it can be looked for

NODE = """
kind: Node
metadata:
  name: n1
  labels: {zone: a}
  annotations: {node.alpha.kubernetes.io/ttl: "hunter2"}
spec: {unschedulable: true, taints: [{key: k, value: v, effect: NoSchedule}]}
status:
  allocatable: {cpu: 7500m, memory: 31Gi, pods: 110, nvidia.com/gpu: 4}
  conditions: [{type: Ready, status: "True", message: hunter2}]
"""
GROUP = """
kind: PodGroup
metadata:
  name: g
  namespace: ns
  creationTimestamp: 2026-11-16T03:00:00Z
  labels: {volcano.sh/preemptable: "false"}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2}
spec:
  minMember: 2
  minTaskMember: {worker: 1}
  queue: q
  priorityClassName: high
  minResources: {cpu: 2, example.com/foo: 3}
status:
  phase: Unknown
  conditions:
  - {type: Unschedulable, status: "True", message: hunter2, lastTransitionTime: 2026-11-16T03:30:00Z}
"""
POD = """
kind: Pod
metadata:
  name: p-12
  namespace: ns
  uid: u
  creationTimestamp: 2026-11-16T03:00:00Z
  deletionTimestamp: 2026-11-16T03:10:00Z
  labels: {app: shop, tier: "1"}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: hunter2
    scheduling.k8s.io/group-name: g
    volcano.sh/task-spec: worker
    volcano.sh/preemptable: "true"
    maar.sh/evicted-for: ns/other
spec:
  nodeName: n1
  schedulerName: volcano
  priority: 7
  priorityClassName: high
  preemptionPolicy: Never
  nodeSelector: {zone: a}
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: zone
        labelSelector:
          matchLabels: {app: shop}
          matchExpressions: [{key: tier, operator: In, values: ["1"]}]
  tolerations: [{key: k, operator: Exists}]
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: shop}}
  containers:
  - name: main
    env: [{name: PASSWORD, value: hunter2}]
    ports: [{hostPort: 80, hostIP: 0.0.0.0}, {hostPort: 53, protocol: UDP}, {containerPort: 9}]
    resources: {requests: {cpu: 100m}, limits: {cpu: 200m, memory: 64Mi}}
  - name: beside
    resources: {requests: {cpu: 1, nvidia.com/gpu: 1, pods: 2}}
  initContainers:
  - name: first
    resources: {requests: {cpu: 4}}
  overhead: {cpu: 10m}
  schedulingGates: [{name: wait}]
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {}}}
  - {name: token, secret: {secretName: hunter2}}
  resourceClaims: [{name: gpu}]
status: {phase: Running, nominatedNodeName: n2, conditions: [{type: Ready, status: "True", message: hunter2}]}
"""
PODS = [
    POD,
    "{kind: Pod, metadata: {name: plain}}",
    "{kind: Pod, metadata: {name: ours, namespace: ns}, spec: {schedulerName: volcano}}",
    "{kind: Pod, metadata: {name: other, namespace: kube-system}, spec: {schedulerName: default-scheduler}}",
    "{kind: Pod, metadata: {name: done, namespace: ns}, status: {phase: Succeeded}}",
    "{kind: Pod, metadata: {name: broken, namespace: ns}, status: {phase: Failed}}",
    "{kind: Pod, metadata: {name: lost, namespace: ns}, spec: {affinity: {}}, status: {phase: Unknown}}",
    "{kind: Pod, metadata: {name: l, labels: {volcano.sh/preemptable: x}}, spec: {priority: 0}}",
]


def objects(*texts: str) -> list[Object]:
    kinds = {kind.__name__: kind for kind in WATCHED}
    documents = [yaml.safe_load(text) for text in texts]
    return [from_document(kinds[document["kind"]], document) for document in documents]


def tables_of(listed: Iterable[Object], name: str = "volcano") -> Tables:
    tables = Tables(scheduler_name=name)
    tables.feed([Upserted(object=one) for one in listed])  # type: ignore[arg-type]
    return tables


def fields_of(row: object, *working: str) -> dict[str, object]:
    """All that a row says of its object; a shape by what it says."""
    reported = {one.name: getattr(row, one.name) for one in fields(row) if one.name not in working}  # type: ignore[arg-type]
    if isinstance(shape := reported.get("shape"), Shape):
        reported["shape"] = {one.name: getattr(shape, one.name) for one in fields(shape)}
    return reported


@pytest.mark.parametrize("name", ["volcano", "another", "default-scheduler"])
def test_reading_the_objects_of_a_snapshot_gives_the_same_rows(name: str) -> None:
    before = tables_of(objects(NODE, GROUP, *PODS), name)
    after = tables_of(Seen.of(before).objects(), name)
    assert [*after.pods] == [*before.pods]
    for key, row in before.pods.items():
        assert fields_of(after.pods[key], "group", "counted") == fields_of(row, "group", "counted")
    for key, group in before.groups.items():
        assert fields_of(after.groups[key], "pods", "leaf", "counted_in") == fields_of(
            group, "pods", "leaf", "counted_in"
        )
    for key, node in before.nodes.items():
        assert fields_of(after.nodes[key], "pods") == fields_of(node, "pods")


def test_what_nobody_decides_by_is_not_in_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    secretive = Namespace(metadata=Metadata(name="ns", annotations={"mine": SECRET, "maar.sh/x": "kept"}))
    queue = Queue(metadata=QueueMetadata(name="q", annotations={"example.com/volcano.sh": SECRET}))
    seen = Seen.of(tables_of([*objects(NODE, GROUP, *PODS), secretive, queue]))
    write(file, Snapshot(time=NOW), seen.objects())
    assert SECRET not in file.read_text(encoding="utf-8")
    assert '"maar.sh/x":"kept"' in file.read_text(encoding="utf-8")
    assert SECRET in to_json(secretive).decode()


def test_every_annotation_that_maar_reads_is_kept() -> None:
    named = {
        text
        for module in pkgutil.iter_modules(model.__path__)
        for name, text in vars(importlib.import_module(f"{model.__name__}.{module.name}")).items()
        if name.endswith(("_ANNOTATION", "_MARK"))
    }
    assert len(named) >= 6
    pod = Pod(metadata=Metadata(name="p", annotations=dict.fromkeys(named, "x")))
    assert reduced(pod) is pod


def test_all_that_the_scheduler_watches_is_in_a_snapshot() -> None:
    assert {*PLAIN, Node, Queue, PodGroup, Pod, BatchJob} == {*WATCHED}


@settings(max_examples=300, deadline=None)
@given(documents)
def test_a_configuration_that_is_written_down_reads_as_it_was(document: object) -> None:
    configuration = attempt(document)
    if isinstance(configuration, Configuration):
        written = json.loads(json.dumps(as_document(configuration)))
        again = parse(written, {"mine": lambda _: PluginHooks()})
        assert (again.actions, again.plugins) == (configuration.actions, configuration.plugins)
        assert again.grace_seconds == configuration.grace_seconds


# --- files


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_a_snapshot_in_json_is_read_as_it_was_written(tmp_path: Path, ending: str) -> None:
    file, listed = tmp_path / f"s{ending}", [*Seen.of(tables_of(objects(NODE, GROUP, *PODS))).objects()]
    snapshot = Snapshot(time=NOW, scheduler_name="x", resources=("cpu",), plan={"share": 1.0}, version="1")
    write(file, snapshot, listed)
    assert read(file) == (snapshot, listed)
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


def test_a_snapshot_that_cannot_be_finished_leaves_nothing_and_harms_nothing(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    write(file, Snapshot(time=NOW), [])
    before = file.read_bytes()

    def breaking() -> Iterable[Object]:
        yield from objects(*PODS)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        write(file, Snapshot(time=NOW), breaking())
    assert [one.name for one in tmp_path.iterdir()] == [file.name]
    assert file.read_bytes() == before


def test_files_that_are_no_snapshots_are_left_to_others_or_explained(tmp_path: Path) -> None:
    file = tmp_path / "s.json.gz"
    write(file, Snapshot(time=NOW), objects(*PODS))
    whole, text = file.read_bytes(), gzip.decompress(file.read_bytes())
    (tmp_path / "other.json").write_text('{"kind": "List"}')
    assert read(tmp_path / "other.json") is None
    for content, problem in (
        (whole[:-20], "end-of-stream"),
        (whole[:40] + b"\x00\x00" + whole[42:], "cannot be read"),
        (gzip.compress(b"kind: Pod"), "unpack it first"),
        (gzip.compress(text[:-10]), "take it again"),
        (gzip.compress(text.replace(b'"Pod"', b'"Pot"')), "Pot is not a kind that Maar reads"),
        (gzip.compress(text.replace(b'"time":"2', b'"time":"x')), "take it again"),
    ):
        file.write_bytes(content)
        with pytest.raises(UnreadableSnapshotError, match=problem):
            read(file)


def test_the_first_difference_of_two_plans_is_named() -> None:
    one: dict[str, object] = {"binds": {"a": "n1"}, "evictions": [{"pod": "x"}], "share": 1.0}
    assert first_difference(one, json.loads(json.dumps(one))) == ""
    assert first_difference(one, {**one, "share": 1}) == "share: 1.0 and 1"
    assert first_difference(one, {**one, "binds": {}}) == "binds.a: 'n1' is in the first only"
    assert first_difference({"binds": {}}, {"binds": {"a": "n"}}) == "binds.a: 'n' is in the second only"
    assert first_difference(one, {**one, "evictions": [{"pod": "y"}]}) == "evictions[0].pod: 'x' and 'y'"
    assert first_difference({"a": 1, "b": 2}, {"b": 2, "a": 1}) == ": in another order"
