"""What a server says no to, and that it says so as Kubernetes does."""

import asyncio
import json
from pathlib import Path

import pytest
from yarl import URL

from maar.kube.api_server import ApiServer
from maar.kube.credentials import load
from maar.kube.errors import ApiError
from maar.kube.outcome import Gone, Refused
from maar.kube.paths import PODS
from maar.kube.write import create, get, patch
from support.kubeconfigs import changed, with_token
from support.manifests import CONFIG_MAPS, config_map, make, pod

pytestmark = pytest.mark.anyio

JSON = "application/json"


async def refusal(
    api: ApiServer, method: str, path: str, text: bytes | None = None, kind: str = JSON
) -> ApiError:
    """Ask something that must be refused."""
    with pytest.raises(ApiError) as caught:
        await api.request(method, path, None, text, kind)
    return caught.value


async def test_an_object_that_is_not_there(api: ApiServer, namespace: str) -> None:
    error = await refusal(api, "GET", CONFIG_MAPS.one(f"{namespace}/nothing"))
    assert (error.code, error.reason, error.message) == (404, "NotFound", 'configmaps "nothing" not found')
    assert (error.details.name, error.details.kind) == ("nothing", "configmaps")


async def test_a_kind_that_is_not_served(api: ApiServer) -> None:
    for path in ("/api/v1/flowers", "/apis/garden.example.com/v1/flowers", "/nothing/at/all"):
        error = await refusal(api, "GET", path)
        assert error.code == 404, path


async def test_a_verb_that_is_not_allowed(api: ApiServer, namespace: str) -> None:
    error = await refusal(api, "PUT", CONFIG_MAPS.all(namespace), b"{}")
    assert (error.code, error.reason) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("text", [b"{", b"not json", b"[]", b'"text"', b'{"kind": 3}', b"\xff\xfe"])
async def test_a_body_that_is_no_object(api: ApiServer, namespace: str, text: bytes) -> None:
    error = await refusal(api, "POST", CONFIG_MAPS.all(namespace), text)
    assert (error.code, error.reason) == (400, "BadRequest")


async def test_a_body_of_another_kind(api: ApiServer, namespace: str) -> None:
    for document in (pod("p"), {**config_map("c"), "apiVersion": "v9"}):
        error = await refusal(api, "POST", CONFIG_MAPS.all(namespace), json.dumps(document).encode())
        assert (error.code, error.reason) == (400, "BadRequest")


async def test_a_field_of_the_wrong_type(api: ApiServer, namespace: str) -> None:
    document = {**config_map("c"), "data": {"n": 3}}
    error = await refusal(api, "POST", CONFIG_MAPS.all(namespace), json.dumps(document).encode())
    assert (error.code, error.reason) == (400, "BadRequest")
    assert "cannot be handled as a ConfigMap" in error.message


async def test_a_name_in_another_namespace_than_the_path(api: ApiServer, namespace: str) -> None:
    document = config_map("c")
    document["metadata"]["namespace"] = "elsewhere"
    error = await refusal(api, "POST", CONFIG_MAPS.all(namespace), json.dumps(document).encode())
    assert (error.code, error.reason) == (400, "BadRequest")
    assert "does not match the namespace" in error.message


async def test_an_invalid_name_is_named(api: ApiServer, namespace: str) -> None:
    outcome = await create(api, CONFIG_MAPS, f"{namespace}/No_Good", config_map("No_Good"))
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.reason) == (422, "Invalid")
    assert outcome.message.startswith(
        'ConfigMap "No_Good" is invalid: metadata.name: Invalid value: "No_Good"'
    )
    assert [cause.field for cause in outcome.causes] == ["metadata.name"]
    assert [cause.reason for cause in outcome.causes] == ["FieldValueInvalid"]


async def test_everything_that_is_wrong_with_a_pod_is_named(api: ApiServer, namespace: str) -> None:
    document = pod("p", restartPolicy="Sometimes", containers=[{"name": "main"}])
    outcome = await create(api, PODS, f"{namespace}/p", document)
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.reason) == (422, "Invalid")
    assert {"spec.containers[0].image", "spec.restartPolicy"} <= {cause.field for cause in outcome.causes}


async def test_what_cannot_change_does_not(api: ApiServer, namespace: str) -> None:
    await make(api, PODS, namespace, pod("p"))
    outcome = await patch(api, PODS, f"{namespace}/p", {"spec": {"schedulerName": "another"}})
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.reason) == (422, "Invalid")


async def test_a_content_type_that_nobody_reads(api: ApiServer, namespace: str) -> None:
    path = CONFIG_MAPS.all(namespace)
    error = await refusal(api, "POST", path, b"<configMap/>", "application/xml")
    assert (error.code, error.reason) == (415, "UnsupportedMediaType")
    await make(api, CONFIG_MAPS, namespace, config_map("c"))
    error = await refusal(api, "PATCH", CONFIG_MAPS.one(f"{namespace}/c"), b"{}", "application/json")
    assert (error.code, error.reason) == (415, "UnsupportedMediaType")


async def test_a_body_that_is_too_long(api: ApiServer, namespace: str) -> None:
    length, server = 10_000_000, URL(api.credentials.proofs.server)
    tls = api.credentials.tls if server.scheme == "https" else None
    reader, writer = await asyncio.open_connection(server.host, server.port, ssl=tls)
    head = (
        f"POST {CONFIG_MAPS.all(namespace)} HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: {JSON}\r\n"
        f"Authorization: {api.credentials.proofs.authorization}\r\nContent-Length: {length}\r\n\r\n"
    )
    writer.write(head.encode() + json.dumps(config_map("c", text="x" * length)).encode())
    try:
        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        await reader.readuntil(b"\r\n\r\n")
        assert b'"reason":"RequestEntityTooLarge"' in (await reader.readline()).replace(b" ", b"")
    finally:
        writer.transport.abort()  # most of it is unsent, and nobody will ever read it
    assert isinstance(await get(api, CONFIG_MAPS, f"{namespace}/c"), Gone)


async def test_a_token_that_nobody_gave(kubeconfig: Path, tmp_path: Path) -> None:
    other = changed(kubeconfig, tmp_path / "kubeconfig", with_token("made-up"))
    async with ApiServer(await load(other)) as api:
        error = await refusal(api, "GET", PODS.all())
        assert (error.code, error.reason) == (401, "Unauthorized")
        with pytest.raises(ApiError, match="Unauthorized"):
            async with api.stream(PODS.all(), {"watch": "true"}, 10):
                pytest.fail("nothing may be watched")
