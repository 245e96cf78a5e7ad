"""Events: where people look for them, counted, and never in the way."""

import json
from http import HTTPStatus

import pytest

from maar.core.model.kinds import from_json
from maar.core.model.pod import Pod
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import EVENTS, PODS, resource_path_of
from maar.kube.record import MOST_WAITING, Recorder, Reference
from maar.kube.write import create, delete
from maar.kube.write_failures import WriteFailures
from maar.kube.writers import Writers
from support.faults import Proxy, Say
from support.manifests import Json, pod, unique

pytestmark = pytest.mark.anyio


async def test_an_event_is_found_by_its_object(api: ApiServer, namespace: str) -> None:
    about = await a_pod(api, namespace)
    async with Writers(4) as writers:
        recorder = Recorder(api, writers, "maar-scheduler", "here-1", WriteFailures())
        recorder.record(about, "Scheduled", "put on node n1")
        recorder.record(about, "Unschedulable", "no node has room", "Warning")
        await writers.idle()
        assert recorder.dropped == 0
    scheduled, waiting = sorted(await events(api, about), key=lambda one: one["reason"])
    assert (scheduled["reason"], scheduled["message"]) == ("Scheduled", "put on node n1")
    assert (scheduled["type"], waiting["type"]) == ("Normal", "Warning")
    assert scheduled["involvedObject"] == {
        "apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "p", "uid": about.uid,
    }  # fmt: skip
    assert scheduled["source"] == {"component": "maar-scheduler"}
    assert (scheduled["reportingComponent"], scheduled["reportingInstance"]) == ("maar-scheduler", "here-1")
    assert scheduled["count"] == 1


async def test_what_is_said_again_is_counted(api: ApiServer, namespace: str) -> None:
    about = await a_pod(api, namespace)
    async with Writers(4) as writers:
        recorder = Recorder(api, writers, "maar-scheduler", "here-1", WriteFailures())
        for times in (3, 2):
            for _ in range(times):
                recorder.record(about, "Waiting", "queue a is at its fair share")
            await writers.idle()
        (event,) = await events(api, about)
        assert event["count"] == 5
        assert event["firstTimestamp"] <= event["lastTimestamp"]

        await delete(
            api, EVENTS, f"{namespace}/{event['metadata']['name']}"
        )  # as the server does after an hour
        recorder.record(about, "Waiting", "queue a is at its fair share")
        await writers.idle()
        (anew,) = await events(api, about)
        assert anew["metadata"]["name"] != event["metadata"]["name"]
        assert recorder.dropped == 0


@pytest.mark.usefixtures("crds")
async def test_events_about_what_is_in_no_namespace_are_in_the_default_one(api: ApiServer) -> None:
    name, place = unique("queue"), resource_path_of(Queue)
    document: Json = {"apiVersion": place.api_version, "kind": "Queue", "metadata": {"name": name}}
    made = await create(api, place, name, document)
    assert isinstance(made, Done)
    about = Reference.to(from_json(Queue, made.body))
    async with Writers(4) as writers:
        Recorder(api, writers, "maar-controllers", "here-1", WriteFailures()).record(
            about, "Closed", "no job is left in it"
        )
        await writers.idle()
    (event,) = await events(api, about)
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["kind"] == "Queue"


async def test_long_names_and_messages_are_cut(api: ApiServer, namespace: str) -> None:
    about = (await a_pod(api, namespace))._replace(name="a" * 199 + "-" + "b" * 50)
    async with Writers(4) as writers:
        recorder = Recorder(api, writers, "maar-scheduler", "here-1", WriteFailures())
        recorder.record(about, "Waiting", "x" * 5_000)
        await writers.idle()
        assert recorder.dropped == 0
    (event,) = await events(api, about)
    assert event["message"] == "x" * 1_024


async def test_what_cannot_be_said_is_let_go(
    faults: tuple[Proxy, ApiServer], api: ApiServer, namespace: str
) -> None:
    proxy, through = faults
    about = await a_pod(api, namespace)
    async with Writers(4) as writers:
        recorder = Recorder(through, writers, "maar-scheduler", "here-1", WriteFailures())
        refusal = json.dumps({"kind": "Status", "reason": "Forbidden", "code": 403})
        proxy.plan(Say(HTTPStatus.FORBIDDEN, refusal), method="POST")
        recorder.record(about, "Waiting", "one")
        await writers.idle()
        assert recorder.dropped == 1
        recorder.record(about, "Waiting", "one")
        await writers.idle()
        assert [one["count"] for one in await events(api, about)] == [1]


async def test_when_too_many_wait_the_latest_are_let_go(api: ApiServer, namespace: str) -> None:
    about = await a_pod(api, namespace)
    recorder = Recorder(api, Writers(4), "maar-scheduler", "here-1", WriteFailures())  # nobody works
    for number in range(MOST_WAITING + 7):
        recorder.record(about, "Waiting", str(number))
    recorder.record(about, "Waiting", "0")
    assert recorder.dropped == 7


async def a_pod(api: ApiServer, namespace: str) -> Reference:
    """Make a pod to talk about."""
    made = await create(api, PODS, f"{namespace}/p", pod("p"))
    assert isinstance(made, Done)
    return Reference.to(from_json(Pod, made.body))


async def events(api: ApiServer, about: Reference) -> list[Json]:
    """Events about an object, found as `kubectl describe` finds them; ours only."""
    fields = (
        f"involvedObject.name={about.name},involvedObject.uid={about.uid},involvedObject.kind={about.kind}"
    )
    path = EVENTS.all(about.namespace)
    listed = json.loads(await api.request("GET", path, {"fieldSelector": fields}))
    return [one for one in listed["items"] if one["source"].get("component", "").startswith("maar")]
