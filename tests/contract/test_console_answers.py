"""The console's answers on API servers: they equal the commands', and come true when they are applied."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml

from maar.apps.console.settings import ConsoleSettings
from maar.apps.scheduler.scheduler import Scheduler
from maar.core.engine import Engine
from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.resources import amount
from maar.kube.api_server import ApiServer
from maar.kube.paths import PODS, ResourcePath
from maar.kube.write import delete
from support.commands import Run, run
from support.console_client import WRITING, ConsoleClient, console_of
from support.faults import proxy
from support.manifests import NODES, Json, make, node, there, unique
from support.until import TIMEOUT_S, until_async

__all__ = ["run"]

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

GROUPS: Final = ResourcePath("scheduling.volcano.sh/v1beta1", "podgroups", namespaced=True)
QUEUES: Final = ResourcePath("scheduling.volcano.sh/v1beta1", "queues", namespaced=False)
ROLES: Final = ResourcePath("rbac.authorization.k8s.io/v1", "roles", namespaced=True)
BINDINGS: Final = ResourcePath("rbac.authorization.k8s.io/v1", "rolebindings", namespaced=True)


@pytest.fixture
async def work(api: ApiServer, namespace: str) -> AsyncIterator[Json]:
    """A node, a queue that may use two CPUs of it, and a group of one pod that wants four."""
    names = {"node": unique("node"), "queue": unique("queue"), "namespace": namespace}
    await make(api, NODES, "", {**node(names["node"]), "metadata": {"name": names["node"]}})
    spec = {"weight": 1, "capability": {"cpu": "2"}}
    await make(api, QUEUES, "", {**header("Queue", names["queue"]), "spec": spec})
    await submit(api, namespace, "train", names["queue"])
    yield names
    await delete(api, PODS, f"{namespace}/train")
    await delete(api, NODES, names["node"])


def header(kind: str, name: str) -> Json:
    return {"apiVersion": GROUPS.api_version, "kind": kind, "metadata": {"name": name}}


async def submit(api: ApiServer, namespace: str, name: str, queue: str) -> None:
    group = {**header("PodGroup", name), "spec": {"minMember": 1, "queue": queue}}
    await make(api, GROUPS, namespace, group)
    await make(api, PODS, namespace, pod(name))


def pod(name: str) -> Json:
    resources = {"requests": {"cpu": "4"}}
    spec = {
        "schedulerName": "volcano",
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "none", "resources": resources}],
    }
    metadata = {"name": name, "annotations": {GROUP_ANNOTATION: name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@asynccontextmanager
async def scheduling(api: ApiServer) -> AsyncIterator[None]:
    """A scheduler at work."""
    scheduler = Scheduler(api, Engine())
    deciding = asyncio.create_task(scheduler.run())
    try:
        yield
    finally:
        scheduler.stop()
        await deciding


async def command(run: Run, *arguments: str) -> Json:
    """The data that a command prints."""
    ended = await asyncio.to_thread(run, "maar", *arguments, "-o", "json")
    found: Json = json.loads(ended.out)
    return found


async def asked(console: ConsoleClient, path: str, change: Json) -> Json:
    answer = await console.post(path, change)
    assert answer.status == 200, answer.body
    found: Json = answer.body
    return found


async def test_an_explanation_is_that_of_the_command(
    work: Json, kubeconfig: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    namespace = work["namespace"]
    expected = await command(run, "explain", "podgroup", "train", "-n", namespace)
    async with console_of(kubeconfig) as console:
        query = {"kind": "podgroup", "key": f"{namespace}/train", "future": "1"}
        answer = await console.get("/api/explanation", **query)
        assert answer.status == 200
        found = answer.body["data"]
        assert found["state"] == "waits"
        for data in (found, expected):
            data.pop("now")
        assert found == expected
        assert answer.body["lines"][0]["text"].startswith(f"Pod group {namespace}/train waits")
        missing = await console.get("/api/explanation", kind="podgroup", key=f"{namespace}/other")
        assert (missing.status, "there is no pod group" in missing.body["error"]) == (404, True)


async def test_a_what_if_is_that_of_the_command_and_comes_true_when_it_is_applied(
    work: Json, api: ApiServer, kubeconfig: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    queue, namespace = work["queue"], work["namespace"]
    change = f"queue/{queue}.capability.cpu=6"
    expected = await command(run, "whatif", "--set", change)
    async with console_of(kubeconfig, settings=WRITING) as console:
        answer = await asked(console, "/api/whatif", {"set": [change]})
        assert amounts(answer) == command_amounts(expected)
        [train] = [one for one in answer["jobs"] if one["group"] == f"{namespace}/train"]
        assert (train["runningBefore"], train["runningAfter"]) == (0, 1)
        changed = {**there_spec(await there(api, QUEUES, queue)), "capability": {"cpu": 6}}
        [document] = yaml.safe_load_all(answer["yaml"])
        assert document["metadata"] == {"name": queue}
        assert document["spec"] == changed
        patch = '\'{"spec":{"capability":{"cpu":6}}}\''
        named = f"queues.scheduling.volcano.sh {queue}"
        assert answer["commands"] == [f"kubectl patch {named} --type merge -p {patch}"]
        done = await asked(console, "/api/apply", {"set": [change]})
        assert done == {"done": [f"changed Queue {queue}: spec.capability.cpu=6"], "notDone": []}

    async def is_bound() -> bool:
        return bool((await there(api, PODS, f"{namespace}/train"))["spec"].get("nodeName"))

    async def is_reported() -> bool:
        status = (await there(api, QUEUES, queue)).get("status", {})
        return bool(status.get("used", {}).get("cpu") == "4")

    async with scheduling(api):
        await until_async("the group starts", is_bound)
        await until_async("the queue says what it uses", is_reported)
    status = (await there(api, QUEUES, queue))["status"]
    [row] = [one for one in answer["after"] if one["name"] == queue]
    assert row["resources"]["cpu"]["used"] == amount("cpu", status["used"]["cpu"])
    assert row["resources"]["cpu"]["deserved"] == amount("cpu", status["deserved"]["cpu"])


def there_spec(document: Json) -> Json:
    spec: Json = document["spec"]
    return spec


def amounts(answer: Json) -> dict[tuple[str, ...], int]:
    """What queues deserve and use, before and after, but for pods."""
    return {
        (when, row["name"], resource, part): one[part]
        for when in ("before", "after")
        for row in answer[when]
        for resource, one in row["resources"].items()
        for part in ("deserved", "used")
        if one[part]
    }


def command_amounts(data: Json) -> dict[tuple[str, ...], int]:
    return {
        (when, name, resource, part): units
        for name, parts in data["queues"].items()
        for part, moments in parts.items()
        for when, quantities in moments.items()
        for resource, text in quantities.items()
        if resource != "pods" and (units := amount(resource, text))
    }


async def test_what_is_submitted_is_created_and_what_is_deleted_goes(
    work: Json, api: ApiServer, kubeconfig: Path
) -> None:
    queue, namespace = unique("queue"), work["namespace"]
    submitted = [
        {**header("PodGroup", "next"), "spec": {"minMember": 1, "queue": queue}},
        {**header("Queue", queue), "spec": {"weight": 2}},
    ]
    submitted[0]["metadata"]["namespace"] = namespace
    change = {"submit": yaml.safe_dump_all(submitted), "addNodes": ["2x8cpu,32Gi"], "drain": [work["node"]]}
    async with console_of(kubeconfig, settings=WRITING) as console:
        answer = await asked(console, "/api/whatif", change)
        assert "kubectl apply -f change.yaml" in answer["commands"]
        assert list(yaml.safe_load_all(answer["yaml"])) == [submitted[1], submitted[0]]
        done = await asked(console, "/api/apply", change)
        assert done["done"] == [
            f"cordoned node {work['node']}",
            f"created Queue {queue}",
            f"created PodGroup {namespace}/next",
        ]
        assert len(done["notDone"]) == 2
        assert (await there(api, NODES, work["node"]))["spec"]["unschedulable"] is True
        assert (await there(api, GROUPS, f"{namespace}/next"))["spec"]["queue"] == queue
        gone = await asked(console, "/api/apply", {"delete": [f"podgroup/{namespace}/next"]})
        assert gone["done"] == [f"deleted PodGroup {namespace}/next"]


async def test_where_the_server_refuses_a_part_nothing_is_changed(
    work: Json, api: ApiServer, kubeconfig: Path
) -> None:
    queue = work["queue"]
    async with console_of(kubeconfig, settings=WRITING) as console:
        changes = [f"queue/{queue}.priority=5", f"queue/{queue}.weight=-1"]
        answer = await console.post("/api/apply", {"set": changes})
        assert answer.status == 422
        assert answer.body["sentences"][-1] == "nothing was changed"
        assert "priority" not in (await there(api, QUEUES, queue))["spec"]
        for change, status in (
            ({"set": [f"queue/{queue}.wight=1"]}, 422),
            ({"set": ["queue/none-of-this-name.weight=1"]}, 422),
            ({"submit": "a: [b"}, 422),
            ({"addNodes": ["/etc/passwd"]}, 422),
            ({}, 422),
            ({"unknown": 1}, 400),
            ({"set": "text"}, 400),
        ):
            for path in ("/api/whatif", "/api/apply"):
                answer = await console.post(path, change)
                assert answer.status == status, (path, change, answer.body)
                assert answer.body["error"]


async def test_without_allow_writes_nothing_is_written(work: Json, kubeconfig: Path, tmp_path: Path) -> None:
    change = {"set": [f"queue/{work['queue']}.weight=3"], "drain": [work["node"]]}
    key = f"{work['namespace']}/train"
    async with proxy(kubeconfig, tmp_path) as (passing, through), console_of(through) as console:
        assert (await console.post("/api/apply", change)).status == 403
        assert (await console.post("/api/whatif", change)).status == 200
        assert (await console.get("/api/queue", name=work["queue"])).status == 200
        assert (await console.get("/api/explanation", kind="podgroup", key=key, future="1")).status == 200
        assert (await console.get("/api/job", kind="podgroup", key=key)).status == 200
        written = [one for one in passing.asked if not one.startswith("GET ")]
    assert all("/selfsubject" in one for one in written), written


async def test_the_page_of_a_group_has_its_pods_and_the_object(work: Json, kubeconfig: Path) -> None:
    key = f"{work['namespace']}/train"
    async with console_of(kubeconfig) as console:
        await until_async("the watch has the group", lambda: has_rows(console, key))
        answer = await console.get("/api/job", kind="podgroup", key=key)
        assert answer.status == 200
        [one] = answer.body["pods"]
        assert (one["name"], one["phase"], one["node"]) == ("train", "Pending", "")
        assert yaml.safe_load(answer.body["yaml"])["spec"]["queue"] == work["queue"]
        for query in ({}, {"kind": "podgroup", "key": "train"}, {"kind": "cron", "key": "a/b"}):
            assert (await console.get("/api/job", **query)).status == 400


async def has_rows(console: ConsoleClient, key: str) -> bool:
    rows = (await console.get("/api/rows", topics="jobs")).body["jobs"]
    return any(one["key"] == key for one in rows)


async def test_rows_of_waiting_groups_have_their_places(work: Json, api: ApiServer, kubeconfig: Path) -> None:
    namespace = work["namespace"]
    await submit(api, namespace, "waits", work["queue"])
    wanted = {f"{namespace}/train": 1, f"{namespace}/waits": 2}
    async with console_of(kubeconfig) as console:
        found = dict[str, int]()

        def take(rows: list[Json]) -> None:
            found.update({one["key"]: one["place"] for one in rows if one["key"] in wanted and one["place"]})

        async with asyncio.timeout(TIMEOUT_S):
            async for name, data in console.events(topics="jobs"):
                if name == "reset":
                    take((await console.get("/api/rows", topics="jobs")).body["jobs"])
                elif name == "rows":
                    take(data["jobs"]["rows"])
                if found == wanted:
                    break
        answer = await console.get("/api/explanation", kind="podgroup", key=f"{namespace}/waits")
        assert answer.body["data"]["order"]["inQueue"] == 2
    await delete(api, PODS, f"{namespace}/waits")


async def test_samples_of_the_history_are_taken_and_drawn(
    work: Json, kubeconfig: Path, tmp_path: Path
) -> None:
    keeping = ConsoleSettings(history=tmp_path / "history.sqlite")
    query = {"queue": work["queue"], "hours": "1"}
    async with console_of(kubeconfig, settings=keeping) as console:

        async def is_sampled() -> bool:
            answer = await console.get("/api/history", **query)
            return answer.status == 200 and answer.body["since"] is not None

        await until_async("there is a sample", is_sampled)
        answer = (await console.get("/api/history", **query)).body
        assert (answer["source"], answer["note"]) == ("file", "")
        titles = [one["title"] for one in answer["figures"]]
        assert titles[-3:] == ["Waiting pod groups", "Longest wait", "Evictions"]
        assert (await console.get("/api/history", queue="none-of-this-name", hours="1")).status == 404
        for hours in ("0", "25", "nan", "x"):
            assert (await console.get("/api/history", queue="root", hours=hours)).status == 400
    async with console_of(kubeconfig) as console:
        answered = await console.get("/api/history", **query)
        assert (answered.status, "--history" in answered.body["error"]) == (404, True)


async def test_a_user_of_one_namespace_is_refused_and_learns_no_names(
    work: Json, api: ApiServer, namespace: str, kubeconfig: Path, request: pytest.FixtureRequest
) -> None:
    if "embedded" in request.node.name:
        pytest.skip("the embedded server has one user, who may do everything")
    secret, hidden = unique("secret"), unique("hidden")
    await make(api, ResourcePath("v1", "namespaces", namespaced=False), "", namespace_of(secret))
    await submit(api, secret, hidden, work["queue"])
    token = await token_of(api, namespace)
    change = {"set": [f"queue/{work['queue']}.weight=3"]}
    async with console_of(kubeconfig, token=token, namespaces=namespace, settings=WRITING) as console:
        key = f"{namespace}/train"
        answers = [
            await console.post("/api/whatif", change),
            await console.get("/api/explanation", kind="podgroup", key=key),
            await console.get("/api/history", queue="root", hours="1"),
            await console.get("/api/queue", name=work["queue"]),
            await console.post("/api/apply", change),
            await console.get("/api/job", kind="podgroup", key=f"{secret}/hidden"),
            await console.get("/api/job", kind="podgroup", key=key),
        ]
        assert [one.status for one in answers[:3]] == [403, 403, 403]
        assert all("may not list" in one.body["error"] or "right" in one.body["error"] for one in answers[:3])
        assert answers[3].status == 403
        assert answers[4].status in (403, 422)
        assert answers[5].status == 403
        assert (answers[6].status, len(answers[6].body["pods"])) == (200, 1)
        for one in answers:
            assert hidden not in json.dumps(one.body)


def namespace_of(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def token_of(api: ApiServer, namespace: str) -> str:
    """A token of an account that may read one namespace and nothing else."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer"}}
    await make(api, ResourcePath("v1", "serviceaccounts", namespaced=True), namespace, account)
    rules = [
        {"apiGroups": ["", "scheduling.volcano.sh", "batch.volcano.sh"], "resources": ["*"], "verbs": ["*"]}
    ]
    role = {"apiVersion": ROLES.api_version, "kind": "Role", "metadata": {"name": "viewer"}, "rules": rules}
    await make(api, ROLES, namespace, role)
    subject = {"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}
    binding = {
        "apiVersion": BINDINGS.api_version,
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"},
        "subjects": [subject],
    }
    await make(api, BINDINGS, namespace, binding)
    asked_for = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/viewer/token"
    answer = json.loads(await api.request("POST", path, body=json.dumps(asked_for).encode()))
    found: str = answer["status"]["token"]
    return found
