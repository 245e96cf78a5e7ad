"""Resource quotas: refusals in Kubernetes' words, and totals that are always those of a recount."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maar.embedded.calls import Call
from maar.embedded.failures import ApiError
from support.embedded import Document, EmbeddedCluster, opened

SMALL = {"requests": {"cpu": "500m", "memory": "300M"}, "limits": {"cpu": "1"}}


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        yield made


def quota(embedded: EmbeddedCluster, name: str = "q", namespace: str = "default", **hard: str) -> Document:
    named = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    return limit(embedded, named, name, namespace)


def limit(
    embedded: EmbeddedCluster,
    hard: dict[str, str],
    name: str = "q",
    namespace: str = "default",
    **spec: object,
) -> Document:
    return embedded.make("resourcequotas", name, namespace, spec={"hard": hard, **spec})


def used(embedded: EmbeddedCluster, name: str = "q") -> Document:
    return dict(embedded.get("resourcequotas", name)["status"]["used"])


def refusal(embedded: EmbeddedCluster, plural: str, name: str, **fields: object) -> str:
    before = embedded.store.revision
    with pytest.raises(ApiError) as raised:
        embedded.make(plural, name, **fields)
    assert (raised.value.code, embedded.store.revision) == (403, before)
    return raised.value.message.removeprefix(f'{plural} "{name}" is forbidden: ')


def pod_refusal(embedded: EmbeddedCluster, name: str, resources: Document | None = None) -> str:
    with pytest.raises(ApiError) as raised:
        embedded.pod(name, resources=resources)
    assert raised.value.code == 403
    return raised.value.message.removeprefix(f'pods "{name}" is forbidden: ')


def claim(storage: str, **spec: object) -> Document:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}


# Pods


def test_so_many_pods_and_no_more(embedded: EmbeddedCluster) -> None:
    quota(embedded, pods="2")
    embedded.pod("a")
    embedded.pod("b")
    assert pod_refusal(embedded, "c") == "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    assert used(embedded) == {"pods": "2"}
    embedded.pod("c", "kube-system")  # another namespace, another budget


def test_requests_and_limits_add_up_and_are_told_as_they_were_written(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"pods": "2", "requests.cpu": "3", "memory": "2Gi", "limits.cpu": "4"})
    embedded.pod("a", resources=SMALL)
    assert used(embedded) == {"pods": "1", "requests.cpu": "500m", "memory": "300M", "limits.cpu": "1"}
    greedy = {"requests": {"cpu": "3", "memory": "3Gi"}, "limits": {"cpu": "4"}}
    assert pod_refusal(embedded, "b", resources=greedy) == (
        "exceeded quota: q, requested: limits.cpu=4,memory=3Gi,requests.cpu=3,"
        " used: limits.cpu=1,memory=300M,requests.cpu=500m, limited: limits.cpu=4,memory=2Gi,requests.cpu=3"
    )
    assert used(embedded)["pods"] == "1"


def test_what_a_quota_limits_must_be_said(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"requests.cpu": "3", "memory": "2Gi", "limits.cpu": "4"})
    extra = [{"name": "first", "image": "none", "resources": {"requests": {"cpu": "1"}}}]
    with pytest.raises(ApiError) as raised:
        embedded.pod("p", initContainers=extra)
    assert raised.value.message == (
        'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: first,main;'
        " memory for: first,main; requests.cpu for: main"
    )


def test_a_pod_that_speaks_as_a_whole_has_said_enough(embedded: EmbeddedCluster) -> None:
    quota(embedded, requests_cpu="3")
    whole = {"containers": [{"name": "c", "image": "none"}], "resources": {"requests": {"cpu": "2"}}}
    embedded.make("pods", "p", spec=whole)
    assert used(embedded) == {"requests.cpu": "2"}


def test_init_containers_sidecars_and_overhead_count_as_for_scheduling(embedded: EmbeddedCluster) -> None:
    quota(embedded, requests_cpu="20")

    def container(name: str, cpu: str, **more: str) -> Document:
        return {"name": name, "image": "none", "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("one", "1"), container("two", "1")],
        "initContainers": [container("beside", "3", restartPolicy="Always"), container("first", "4")],
        "overhead": {"cpu": "500m"},
    }
    embedded.make("pods", "p", spec=spec)
    assert used(embedded) == {"requests.cpu": "7500m"}  # 3 beside and 4 first, more than 1 + 1 + 3


def test_extended_resources_are_limited_by_what_is_requested(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"requests.nvidia.com/gpu": "2"})
    two = {"nvidia.com/gpu": "2"}
    embedded.pod("a", resources={"requests": two, "limits": two})
    assert used(embedded) == {"requests.nvidia.com/gpu": "2"}
    assert pod_refusal(embedded, "b", resources={"requests": two, "limits": two}) == (
        "exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=2,"
        " limited: requests.nvidia.com/gpu=2"
    )


def test_finished_pods_hold_nothing_but_their_place(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"pods": "1", "requests.cpu": "1", "count/pods": "2"})
    embedded.pod("a", resources={"requests": {"cpu": "1"}}, nodeName="n1")
    embedded.edit("pods", "a", "status", status={"phase": "Succeeded"})
    assert used(embedded) == {"pods": "0", "requests.cpu": "0", "count/pods": "1"}
    embedded.pod("b", resources={"requests": {"cpu": "1"}})
    embedded.cluster.delete("pods", "default", "a")
    assert used(embedded) == {"pods": "1", "requests.cpu": "1", "count/pods": "1"}


def test_a_pod_that_is_going_counts_until_it_is_gone(embedded: EmbeddedCluster) -> None:
    quota(embedded, pods="1")
    embedded.pod("a", nodeName="n1", terminationGracePeriodSeconds=30)
    embedded.cluster.delete("pods", "default", "a")
    assert used(embedded) == {"pods": "1"}


# Scopes


@pytest.mark.parametrize(
    ("scope", "counted"),
    [
        ("BestEffort", ["lazy", "timed"]),
        ("NotBestEffort", ["busy"]),
        ("Terminating", ["timed"]),
        ("NotTerminating", ["lazy", "busy"]),
        ("CrossNamespacePodAffinity", []),
    ],
)
def test_a_scope_is_about_some_pods_only(embedded: EmbeddedCluster, scope: str, counted: list[str]) -> None:
    limit(embedded, {"pods": "9"}, scopes=[scope])
    deadline: dict[str, Document] = {"timed": {"activeDeadlineSeconds": 60}}
    found = []
    for name in ("lazy", "timed", "busy"):
        before = used(embedded)
        embedded.pod(name, resources=SMALL if name == "busy" else {}, **deadline.get(name, {}))
        found += [name] if used(embedded) != before else []
    assert found == counted


@pytest.mark.parametrize(
    ("operator", "values", "counted"),
    [("In", ["high"], 1), ("NotIn", ["high"], 1), ("Exists", [], 1), ("DoesNotExist", [], 1)],
)
def test_a_scope_by_priority_class(
    embedded: EmbeddedCluster, operator: str, values: list[str], counted: int
) -> None:
    embedded.make("priorityclasses.scheduling.k8s.io", "high", "", value=10)
    wanted: Document = {"scopeName": "PriorityClass", "operator": operator}
    if values:
        wanted["values"] = values
    limit(embedded, {"pods": "9"}, scopeSelector={"matchExpressions": [wanted]})
    embedded.pod("high", priorityClassName="high")
    has_class = operator in ("In", "Exists")
    assert used(embedded) == {"pods": str(int(has_class))}
    embedded.pod("plain")
    assert used(embedded) == {"pods": str(counted)}


def test_leaving_a_scope_frees_its_quota_and_entering_one_needs_room(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"pods": "0"}, "timed", scopes=["Terminating"])
    limit(embedded, {"pods": "1"}, "endless", scopes=["NotTerminating"])
    embedded.pod("p")
    with pytest.raises(
        ApiError, match="exceeded quota: timed, requested: pods=1, used: pods=0, limited: pods=0"
    ):
        embedded.edit("pods", "p", spec={"activeDeadlineSeconds": 60})
    embedded.cluster.delete("resourcequotas", "default", "timed")
    embedded.edit("pods", "p", spec={"activeDeadlineSeconds": 60})
    assert used(embedded, "endless") == {"pods": "0"}


def test_a_scope_counts_no_other_kind(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"pods": "1"}, scopes=["BestEffort"])
    embedded.make("configmaps", "c")
    assert used(embedded) == {"pods": "0"}


# Other kinds


def test_objects_are_counted_by_any_of_their_names(embedded: EmbeddedCluster) -> None:
    names = ["count/configmaps", "configmaps", "secrets", "count/jobs.batch", "resourcequotas"]
    names.append("count/podgroups.scheduling.volcano.sh")
    limit(embedded, dict.fromkeys(names, "1"))
    assert used(embedded) == {**dict.fromkeys(names, "0"), "resourcequotas": "1"}
    embedded.make("configmaps", "a")
    assert refusal(embedded, "configmaps", "b") == (
        "exceeded quota: q, requested: configmaps=1,count/configmaps=1,"
        " used: configmaps=1,count/configmaps=1, limited: configmaps=1,count/configmaps=1"
    )
    embedded.make("podgroups.scheduling.volcano.sh", "g", spec={"minMember": 1})
    assert used(embedded)["count/podgroups.scheduling.volcano.sh"] == "1"
    assert refusal(embedded, "resourcequotas", "r", spec={"hard": {"pods": "1"}}).startswith(
        "exceeded quota: q"
    )
    embedded.cluster.delete("configmaps", "default", "a")
    assert used(embedded)["configmaps"] == "0"


def test_storage_is_counted_in_all_and_by_class(embedded: EmbeddedCluster) -> None:
    gold = "gold.storageclass.storage.k8s.io/requests.storage"
    limit(embedded, {"persistentvolumeclaims": "2", "requests.storage": "3Gi", gold: "1Gi"})
    embedded.make("persistentvolumeclaims", "a", spec=claim("1Gi", storageClassName="gold"))
    assert used(embedded) == {"persistentvolumeclaims": "1", "requests.storage": "1Gi", gold: "1Gi"}
    assert refusal(embedded, "persistentvolumeclaims", "b", spec=claim("1Gi", storageClassName="gold")) == (
        f"exceeded quota: q, requested: {gold}=1Gi, used: {gold}=1Gi, limited: {gold}=1Gi"
    )
    embedded.make("persistentvolumeclaims", "b", spec=claim("1Gi", storageClassName="tin"))
    assert used(embedded)["requests.storage"] == "2Gi"


def test_a_service_may_not_become_what_the_quota_has_no_room_for(embedded: EmbeddedCluster) -> None:
    limit(embedded, {"services": "1", "services.nodeports": "0", "services.loadbalancers": "0"})
    embedded.make("services", "s", spec={"type": "ClusterIP", "ports": [{"port": 80}]})
    with pytest.raises(ApiError, match=r"requested: services\.nodeports=1, used: services\.nodeports=0"):
        embedded.edit("services", "s", spec={"type": "NodePort"})
    assert used(embedded) == {"services": "1", "services.nodeports": "0", "services.loadbalancers": "0"}


# The quota itself


def test_a_new_quota_knows_what_is_used_already(embedded: EmbeddedCluster) -> None:
    embedded.pod("a", resources=SMALL)
    embedded.pod("b", resources=SMALL, nodeName="n1")
    embedded.edit("pods", "b", "status", status={"phase": "Failed"})
    made = limit(embedded, {"pods": "1", "requests.cpu": "1", "count/things.example.com": "3"})
    assert made["status"] == {
        "hard": {"pods": "1", "requests.cpu": "1", "count/things.example.com": "3"},
        "used": {"pods": "1", "requests.cpu": "500m"},
    }


def test_a_changed_quota_measures_what_is_new_and_keeps_the_rest(embedded: EmbeddedCluster) -> None:
    quota(embedded, pods="1")
    embedded.pod("a", resources=SMALL)
    embedded.edit("resourcequotas", "q", spec={"hard": {"pods": "5", "requests.cpu": "2"}})
    status = embedded.get("resourcequotas", "q")["status"]
    assert status == {
        "hard": {"pods": "5", "requests.cpu": "2"},
        "used": {"pods": "1", "requests.cpu": "500m"},
    }
    embedded.edit("resourcequotas", "q", spec={"hard": {"requests.cpu": "2"}})
    assert used(embedded) == {"requests.cpu": "500m"}


def test_totals_are_nobody_elses_to_write(embedded: EmbeddedCluster) -> None:
    quota(embedded, pods="1")
    embedded.pod("a")
    embedded.edit("resourcequotas", "q", "status", status={"used": {"pods": "0"}})
    assert used(embedded) == {"pods": "1"}


def test_a_pod_that_is_only_tried_is_not_counted(embedded: EmbeddedCluster) -> None:
    quota(embedded, pods="1")
    body: Document = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    embedded.cluster.create("pods", "default", body, Call(dry_run=True))
    assert used(embedded) == {"pods": "0"}


def test_every_quota_of_a_namespace_counts(embedded: EmbeddedCluster) -> None:
    quota(embedded, "wide", pods="5")
    quota(embedded, "narrow", pods="1")
    embedded.pod("a")
    assert pod_refusal(embedded, "b").startswith("exceeded quota: narrow")
    assert (used(embedded, "wide"), used(embedded, "narrow")) == ({"pods": "1"}, {"pods": "1"})


def test_a_quota_that_has_gone_limits_nothing(embedded: EmbeddedCluster) -> None:
    quota(embedded, pods="0")
    embedded.cluster.delete("resourcequotas", "default", "q")
    embedded.pod("a")


def test_a_quota_holds_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded:
        quota(embedded, pods="1")
        embedded.pod("a")
    with opened(tmp_path) as embedded:
        assert pod_refusal(embedded, "b").startswith("exceeded quota: q")


# The law

CPU = st.sampled_from(["100m", "0.5", "1", "2500m"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.sampled_from("abcd"), CPU),
        st.tuples(st.sampled_from(["finish", "go", "limit", "try"]), st.sampled_from("abcd"), CPU),
    ),
    max_size=25,
)


def take(embedded: EmbeddedCluster, act: str, name: str, cpu: str) -> None:
    match act:
        case "come":
            embedded.pod(name, resources={"requests": {"cpu": cpu}})
        case "finish":
            embedded.edit("pods", name, "status", status={"phase": "Succeeded"})
        case "go":
            embedded.cluster.delete("pods", "default", name)
        case "limit":
            embedded.edit(
                "resourcequotas", "q", spec={"hard": {"requests.cpu": cpu, "pods": "3", "count/pods": "9"}}
            )
        case "try":
            container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
            body: Document = {"metadata": {"name": name}, "spec": {"containers": [container]}}
            embedded.cluster.create("pods", "default", body, Call(dry_run=True))


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_running_totals_are_those_of_a_recount(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as embedded:
        limit(embedded, {"requests.cpu": "2", "pods": "3", "count/pods": "9"})
        for act, name, cpu in steps:
            with suppress(ApiError):  # whatever is refused leaves no trace
                take(embedded, act, name, cpu)
        recount = limit(embedded, dict(embedded.get("resourcequotas", "q")["spec"]["hard"]), "recount")
        assert used(embedded) == recount["status"]["used"]
