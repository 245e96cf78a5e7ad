"""Admission's permissions: with all of them every story comes true, without any of them one fails."""

import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.needs_kubernetes import needs_kubernetes
from support.permissions import Permission, permissions
from support.reduced_permissions import Holds, Stage, Starts, stage_of, stays_untrue

Json = dict[str, Any]

ME: Final = "maar-webhooks"
CONFIGURATIONS: Final = str(Path(__file__).parents[2] / "deploy" / "webhooks")
QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues?dryRun=All"
SECRETS: Final = "/api/v1/namespaces/maar-system/secrets"
QUIET_S: Final = 12.0
RUBBISH: Final = dict.fromkeys(("tls.crt", "tls.key"), "cnViYmlzaA==")


def queue(**spec: object) -> Json:
    metadata = {"name": "probe"}
    version = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": version, "kind": "Queue", "metadata": metadata, "spec": spec}


def a_queue_without_its_parent_is_refused_in_words(stage: Stage) -> Holds:
    return lambda: b"[queue-parent-exists]" in stage.request("POST", QUEUES, queue(parent="nowhere")).body


def what_is_left_out_of_a_queue_is_filled_in(stage: Stage) -> Holds:
    def is_filled_in() -> bool:
        answer = stage.request("POST", QUEUES, queue(weight=1))
        spec = json.loads(answer.body).get("spec", {})
        return bool(answer.status == 201 and spec.get("parent") == "root" and spec["reclaimable"])

    return is_filled_in


STORIES: Final = {
    "validatingwebhookconfigurations": a_queue_without_its_parent_is_refused_in_words,
    "mutatingwebhookconfigurations": what_is_left_out_of_a_queue_is_filled_in,
}
ALL: Final = permissions("webhooks")
SEEN: Final = [one for one in ALL if one.verb in ("list", "watch")]
KEPT: Final = [one for one in ALL if one.is_in_maar_system and one not in SEEN]
REGISTERED: Final = [one for one in ALL if one not in SEEN and one not in KEPT]


def asks_for_nothing(stage: Stage) -> bool:
    """Whether the program makes no request in some seconds; a look at everything is a dozen of them."""
    before = stage.audit.requests(ME)
    time.sleep(QUIET_S)
    return stage.audit.requests(ME) == before


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    needs_kubernetes()
    with stage_of(tmp_path_factory.mktemp("webhooks"), "webhooks") as made:
        made.plane.kubectl("create", "-f", CONFIGURATIONS)
        yield made


@pytest.fixture(scope="module")
def starts(stage: Stage) -> Iterator[Starts]:
    starts = Starts(stage, SEEN, "--host", "127.0.0.1", "--port", "0")
    yield starts
    starts.close()


@pytest.fixture
def url() -> str:
    """Where nobody listens yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"https://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize("taken", SEEN, ids=str)
def test_it_does_not_begin_or_lists_again_and_again_without(starts: Starts, taken: Permission) -> None:
    wanted = "it lists again and again" if taken.verb == "watch" else "it does not begin"
    assert starts.end_of(taken) == wanted


@pytest.mark.parametrize("taken", KEPT, ids=str)
def test_it_has_no_keys_to_begin_with_without(stage: Stage, taken: Permission) -> None:
    """Where it may not make a Secret there is none; where it may not write one, what is there is no use."""
    stage.request("DELETE", f"{SECRETS}/{ME}")
    if taken.verb == "update":
        stage.make(SECRETS, "Secret", ME, type="kubernetes.io/tls", data=RUBBISH)
    name = f"{taken.verb}-{taken.resource}"
    flags = ("--host", "127.0.0.1", "--port", "0")
    assert stage.refused_start(name, stage.account(name, taken), taken, *flags) == "it does not begin"


@pytest.mark.parametrize("taken", REGISTERED, ids=str)
def test_nobody_is_judged_without(stage: Stage, taken: Permission, url: str) -> None:
    stage.plane.kubectl("replace", "-f", CONFIGURATIONS)  # as they come, without an authority to trust
    name = f"{taken.verb}-{taken.resource}"
    stage.start(name, stage.account(name, taken), "--url", url)
    try:
        stage.until("it judges", lambda: stage.is_at_work(name))
        stage.until_refused(name, taken, stage.processes)
        assert stays_untrue(STORIES[taken.resource](stage))
    finally:
        stage.processes.stop(name, signal.SIGKILL)


def test_with_all_of_them_every_story_comes_true_and_nothing_is_refused(stage: Stage, url: str) -> None:
    stage.request("DELETE", f"{SECRETS}/{ME}")
    stage.make(SECRETS, "Secret", ME, type="kubernetes.io/tls", data=RUBBISH)
    stage.plane.kubectl("replace", "-f", CONFIGURATIONS)
    stage.start(ME, stage.account(ME), "--url", url)
    stage.until("it judges", lambda: stage.is_at_work(ME))
    for story in STORIES.values():
        stage.until(story.__name__, story(stage))
    for one in SEEN:
        asked = stage.asked(ME, one)
        stage.until(f"it is seen to {one}", lambda asked=asked: stage.audit.allowed(asked) > 0)  # type: ignore[misc]  # bound
        assert stage.audit.allowed(asked) == 1
    assert stage.audit.refusals(ME) == []
    stage.until("it asks for nothing while nothing changes", lambda: asks_for_nothing(stage))
    stage.processes.stop(ME, signal.SIGTERM)
    assert "Traceback" not in stage.processes.log(ME).read_text()
