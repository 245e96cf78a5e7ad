"""Rights in the console, by the RBAC of a real kube-apiserver: of what may not be read nothing is heard."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from maar.apps.console import viewer as viewer_module
from maar.apps.console.settings import ConsoleSettings
from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.write import delete
from support.console import POSTED, ConsoleClient, Json, running_console
from support.manifests import make, pod, unique
from support.until import TIMEOUT_S, until_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("crds")]

RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = ResourcePath(f"{RBAC}/v1", "roles", namespaced=True)
BINDINGS: Final = ResourcePath(f"{RBAC}/v1", "rolebindings", namespaced=True)
ACCOUNTS: Final = ResourcePath("v1", "serviceaccounts", namespaced=True)
NAMESPACES: Final = ResourcePath("v1", "namespaces", namespaced=False)
RULES: Final = (
    {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["list", "watch", "get"]},
    {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": ["list", "watch", "get"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["list", "watch", "get"]},
)
# Every question that a page asks, about what is its user's own and about what is not.
PATHS: Final = (
    "/api/me",
    "/api/rows",
    "/api/queue?name=root",
    "/api/queue?name=default",
    "/api/history?hours=1",
    "/api/history?queue=root&hours=24",
    "/api/job?kind=podgroup&key={mine}/work",
    "/api/job?kind=podgroup&key={mine}/missing",
    "/api/explanation?kind=podgroup&key={mine}/work",
    "/api/explanation?kind=podgroup&key={mine}/work&future=1",
)
OTHERS: Final = (
    "/api/job?kind=podgroup&key={other}/{secret}",
    "/api/explanation?kind=podgroup&key={other}/{secret}",
)
WHATIFS: Final = (
    '{"set": ["queue/default.weight=3"]}',
    '{"addNodes": ["1x8cpu,32Gi"]}',
    '{"drain": ["n"]}',
    '{"submit": ""}',
)


@pytest.fixture(autouse=True)
def _only_real(request: pytest.FixtureRequest) -> None:
    if "embedded" in request.node.name:
        pytest.skip("the embedded server has no RBAC: its users may do anything")


@pytest.fixture
async def console(kubeconfig: Path) -> AsyncIterator[ConsoleClient]:
    async with running_console(
        kubeconfig, ConsoleSettings(port=0, login="token", allows_writes=True)
    ) as client:
        yield client


class Places:
    """Two namespaces: one is the user's, of the other nothing must be learned."""

    def __init__(self, api: ApiServer, mine: str, other: str) -> None:
        self.api, self.mine, self.other = api, mine, other
        self.secret = unique("secret-work")  # the name of all objects in the other

    async def fill(self) -> None:
        """Have work in both."""
        for namespace, name in ((self.mine, "work"), (self.other, self.secret)):
            await make(self.api, resource_path_of(PodGroup), namespace, _group(name))
            await make(self.api, PODS, namespace, pod(name))

    async def token(self, *rules: Json) -> str:
        """A token of an account in the first namespace that has these rights there, and no others."""
        name = unique("viewer")
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        await make(self.api, ACCOUNTS, self.mine, account)
        role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name}, "rules": list(rules)}
        await make(self.api, ROLES, self.mine, role)
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.mine}],
        }
        await make(self.api, BINDINGS, self.mine, binding)
        self.binding = f"{self.mine}/{name}"
        asked = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        path = ACCOUNTS.one(f"{self.mine}/{name}", "token")
        answer = await self.api.request("POST", path, body=asked.encode())
        return str(json.loads(answer)["status"]["token"])


@pytest.fixture
async def places(api: ApiServer, namespace: str) -> Places:
    other = unique("others-namespace")
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    await make(api, NAMESPACES, "", document)
    found = Places(api, namespace, other)
    await found.fill()
    return found


def _group(name: str) -> Json:
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": 1, "queue": "default"},
    }


async def test_a_user_of_one_namespace_learns_nothing_of_the_others(
    console: ConsoleClient, places: Places
) -> None:
    token = await places.token(*RULES)
    assert (await console.login(token, places.mine)).headers["location"] == "/"
    me = (await console.get("/api/me")).json
    assert me["namespaces"] == [places.mine]
    assert me["everywhere"] == dict.fromkeys(("queues", "podgroups", "jobs", "pods", "nodes"), False)
    assert list(await console.rows("jobs")) == [f"{places.mine}/work"]
    assert list(await console.rows("nodes")) == []
    seen = [await console.get(path.format(mine=places.mine)) for path in PATHS]
    for path in ("/api/whatif", "/api/apply"):
        seen += [await console.send("POST", path, headers=POSTED, data=one.encode()) for one in WHATIFS]
    await _hear_nothing_of(places.other, console)
    for answer in seen:
        for word in (places.other, places.secret):
            assert word.encode() not in answer.body
            assert word not in str(dict(answer.headers))
    for path in OTHERS:  # what was asked for may be in the answer, and whether it exists must not
        guessed = [path.format(other=places.other, secret=one) for one in (places.secret, "no-such-work")]
        answers = [await console.get(one) for one in guessed]
        assert answers[0].status == answers[1].status >= 400
        said = (
            answers[0].body.replace(places.secret.encode(), b"X"),
            answers[1].body.replace(b"no-such-work", b"X"),
        )
        assert said[0] == said[1]


FOLLOWED_S = 3.0


async def _hear_nothing_of(word: str, console: ConsoleClient) -> None:
    """Follow events for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FOLLOWED_S):
            async for name, data in console.events():
                assert word not in json.dumps(data), name


async def test_a_namespace_that_is_named_and_may_not_be_read_is_not_shown(
    console: ConsoleClient, places: Places
) -> None:
    token = await places.token(*RULES)
    await console.login(token, f"{places.mine},{places.other} kube-system")
    assert (await console.get("/api/me")).json["namespaces"] == [places.mine]
    assert list(await console.rows("jobs")) == [f"{places.mine}/work"]


async def test_a_service_account_that_names_nothing_sees_its_own_namespace(
    console: ConsoleClient, places: Places
) -> None:
    await console.login(await places.token(*RULES))
    assert (await console.get("/api/me")).json["namespaces"] == [places.mine]


async def test_kinds_that_may_not_be_read_are_left_out_and_the_rest_is_there(
    console: ConsoleClient, places: Places
) -> None:
    token = await places.token(RULES[0])
    await console.login(token, places.mine)
    (row,) = (await console.rows("jobs")).values()
    assert (row["name"], row["request"], row["pods"]["pending"]) == ("work", {}, 0)


async def test_rights_that_are_taken_away_take_the_rows_with_them(
    console: ConsoleClient, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer_module, "RIGHTS_EVERY_S", 0.5)
    token = await places.token(*RULES)
    await console.login(token, places.mine)
    version = (await console.get("/api/rows")).json["version"]
    stream = console.events(version)
    assert await anext(stream) == ("state", {"problem": ""})
    await delete(places.api, BINDINGS, places.binding)
    async with asyncio.timeout(TIMEOUT_S):
        assert (await anext(stream))[0] == "reset"
    assert await console.rows("jobs") == {}

    async def are_gone() -> bool:
        return bool((await console.get("/api/me")).json["namespaces"] == [])

    await until_async("the namespace is gone", are_gone)
