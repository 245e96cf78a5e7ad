"""What a fuzz of the embedded server found, one request for each class."""

import asyncio
import json
from pathlib import Path

import pytest

from maar.embedded.history import History
from maar.embedded.store import Change, Key
from support.embedded import opened
from support.hostile_text import laughs
from support.in_process_server import Answer, InProcessServer, Sent, sent

PODS, MAPS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CONTAINER = {"name": "c", "image": "i"}
APPLY, JSON_PATCH = b"application/apply-patch+yaml", b"application/json-patch+json"


def answers(folder: Path, *requests: Sent) -> list[Answer]:
    """Send requests, one after the other."""
    server = InProcessServer(folder)

    async def run() -> list[Answer]:
        return [await server.send(request) for request in requests]

    try:
        return asyncio.run(run())
    finally:
        server.close()


def budget(share: str) -> dict[str, object]:
    """A disruption budget of a share of the pods."""
    selector = {"matchLabels": {"a": "b"}}
    return {"metadata": {"name": "b"}, "spec": {"minAvailable": share, "selector": selector}}


def pod(amount: object, **more: object) -> dict[str, object]:
    """A pod that asks for an amount."""
    container = {**CONTAINER, "resources": {"requests": {"cpu": amount}}, **more}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container]}}


def nested(levels: int) -> object:
    """A mapping in mappings."""
    value: object = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("request_", "code", "reported"),
    [
        (
            sent("GET", PODS, query="labelSelector=a%3E" + "9" * 5_000),
            400,
            "compared with whole numbers only",
        ),
        (sent("GET", PODS, query="limit=" + "9" * 5_000), 400, "must be a whole number"),
        (sent("GET", PODS, query="watch=1&resourceVersion=%C2%B2"), 400, "invalid resourceVersion"),
        (sent("POST", "/api/v1/namespaces/default/bindings", {"metadata": []}), 400, "metadata must be"),
        (sent("POST", "/api/v1/namespaces/default/bindings", {"metadata": 1}), 400, "metadata must be"),
        (sent("POST", PODS, pod(-(2**63))), 400, "quantities must match"),
        (sent("POST", BUDGETS, budget("9" * 5_000 + "%")), 422, "must not be greater than 100%"),
        (sent("POST", PODS, b"[" * 100_000), 400, "nested more than 100 levels deep"),
        (sent("POST", MAPS, nested(101)), 400, "nested more than 100 levels deep"),
        (sent("POST", MAPS, [[]] * 100_001), 400, "more than 100000 values"),
        (sent("POST", MAPS, b"[" * 100_000, kind=b"application/yaml"), 400, "nested more than 100 levels"),
        (
            sent("PATCH", f"{MAPS}/m", b"[" * 100_000, "fieldManager=m", APPLY),
            400,
            "the body is not YAML: line 1, column 101: nested more than 100 levels deep; make it flatter",
        ),
        (
            sent("PATCH", f"{MAPS}/m", laughs(10).encode(), "fieldManager=m", APPLY),
            400,
            "more than 100000 values, aliases written out",
        ),
        (
            sent("POST", PODS, pod("1", args=["x" * (3 << 19)])),
            413,
            "the limit is 1572864",
        ),
    ],
)
def test_it_is_refused_with_a_sentence(request_: Sent, code: int, reported: str, tmp_path: Path) -> None:
    (answer,) = answers(tmp_path, request_)
    assert (answer.code, reported in answer.message()) == (code, True), answer.body[:500]


def test_operations_one_after_the_other_make_no_object_deeper_than_the_limit(tmp_path: Path) -> None:
    operations = [{"op": "add", "path": "/x" + "/a" * (60 * n), "value": nested(60)} for n in range(2)]
    made, patched = answers(
        tmp_path,
        sent("POST", MAPS, {"metadata": {"name": "m"}}),
        sent("PATCH", f"{MAPS}/m", operations, kind=JSON_PATCH),
    )
    assert (made.code, patched.code) == (201, 422)
    assert b"nested more than 100 levels deep" in patched.body


def test_a_key_that_is_there_twice_is_refused_warned_about_or_passed_over(tmp_path: Path) -> None:
    twice = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  a: b\n  a: c\n"
    warned, strict, ignored = answers(
        tmp_path,
        sent("PATCH", f"{MAPS}/m", twice, "fieldManager=m", APPLY),
        sent("PATCH", f"{MAPS}/m", twice, "fieldManager=m&fieldValidation=Strict", APPLY),
        sent("POST", MAPS, twice, "fieldValidation=Ignore&dryRun=All", b"application/yaml"),
    )
    assert (warned.code, strict.code, ignored.code) == (201, 400, 409)
    assert json.loads(warned.body)["data"] == {"a": "c"}
    assert b"line 6, column 3: the key" in warned.headers
    assert 'the key "a" is in this mapping already, in line 5' in strict.message()


def test_warnings_and_causes_are_as_many_as_people_read(tmp_path: Path) -> None:
    unknown = {"metadata": {"name": "m"}, **{f"k{number}": 1 for number in range(30_000)}}
    bad = {"metadata": {"name": "n", "labels": {f"-{number}": "" for number in range(5_000)}}}
    warned, refused, strict = answers(
        tmp_path,
        sent("POST", MAPS, unknown),
        sent("POST", MAPS, bad),
        sent("POST", MAPS, unknown, "fieldValidation=Strict"),
    )
    assert warned.code == 201
    assert len(warned.headers) < 5_000
    assert b"and 29984 more" in warned.headers
    assert refused.code == 422
    assert len(json.loads(refused.body)["details"]["causes"]) == 101
    assert "and 4900 more problems" in refused.message()
    assert len(strict.body) < 10_000


def test_the_history_of_changes_is_bounded_in_bytes(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded:
        history = History(embedded.store)
        begin = embedded.store.revision
        hear = embedded.store._listeners[-1]  # noqa: SLF001  it is what the store would tell
        large = bytes(1 << 20)
        for number in range(300):
            hear(Change(begin + number + 1, Key("configmaps", "default", "m"), "MODIFIED", large, large))
        kept = history._past["configmaps"]  # noqa: SLF001
        assert kept.bytes <= 128 << 20
        assert kept.changes[0].revision == begin + 300 - 63
        assert kept.known == begin + 300 - 64
