"""Reviews over HTTP without a cluster: what is answered, what is refused, and which keys are served when."""

import asyncio
import base64
import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from cryptography import x509

from maar.apps.webhooks import server
from maar.apps.webhooks.configurations import Registration, Wanted, registrations, service_hosts
from maar.apps.webhooks.reviewer import AdmissionReviewer
from maar.apps.webhooks.reviews import PATHS
from maar.apps.webhooks.server import WebhookServer
from maar.core.admission.request import Options
from maar.core.admission.rules import RULES_ABOUT_OTHERS, all_rules
from maar.core.model.events import Deleted, Upserted
from maar.core.model.metadata import Metadata
from maar.core.model.namespace import QUOTA_LABEL, Namespace
from maar.core.model.queue import Queue, QueueMetadata
from maar.kube.certificates import OVERLAP, Keys, renewed
from support.until import TIMEOUT_S

NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)
MAAR: Final = Path(sys.executable).with_name("maar")
DAY: Final = timedelta(days=1)
Json = dict[str, Any]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def judge() -> AdmissionReviewer:
    """A judge that knows a cluster with nothing in it."""
    warm = AdmissionReviewer(Options())
    warm.warm.set()
    warm.feed([Upserted(object=Namespace(metadata=Metadata(name="default")))])
    return warm


async def ask(
    judge: AdmissionReviewer, path: str, body: bytes, method: str = "POST", parts: int = 1
) -> tuple[int, str]:
    """One request through ASGI; gives the status and the body."""
    size = -(-len(body) // parts) or 1
    chunks = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    messages = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks) - 1}
        for number, chunk in enumerate(chunks)
    ]
    sent: list[Json] = []

    async def receive() -> Json:
        return messages.pop(0)

    async def send(message: Any) -> None:  # noqa: ANN401  # ASGI's own type
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
    await WebhookServer(judge)(scope, receive, send)
    return sent[0]["status"], sent[1]["body"].decode()


def review(resource: str, document: object, **more: object) -> bytes:
    request = {
        "uid": "u-1",
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": resource},
        "object": document,
        "oldObject": None,
        "dryRun": False,
        "userInfo": {"username": "alice", "groups": ["people"]},
        **more,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()


def queue(name: str = "q", **spec: object) -> Json:
    return {"metadata": {"name": name}, "spec": spec}


async def response(judge: AdmissionReviewer, path: str, body: bytes) -> Json:
    status, text = await ask(judge, path, body)
    assert status == 200, text
    found: Json = json.loads(text)
    assert (found["apiVersion"], found["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert found["response"]["uid"] == "u-1"
    return found["response"]  # type: ignore[no-any-return]  # JSON


@pytest.mark.anyio
async def test_defaults_come_as_a_json_patch(judge: AdmissionReviewer) -> None:
    answer = await response(judge, "/queues/mutate", review("queues", queue()))
    assert answer["allowed"] is True
    assert answer["patchType"] == "JSONPatch"
    patch = json.loads(base64.b64decode(answer["patch"]))
    assert {"op": "add", "path": "/spec/parent", "value": "root"} in patch


@pytest.mark.anyio
async def test_a_refusal_has_code_reason_and_the_sentences_of_the_rules(judge: AdmissionReviewer) -> None:
    answer = await response(judge, "/queues/validate", review("queues", queue(weight=0, parent="q")))
    assert answer["allowed"] is False
    assert (answer["status"]["code"], answer["status"]["reason"]) == (403, "Forbidden")
    lines = answer["status"]["message"].splitlines()
    assert [line.split("]")[0] for line in lines] == ["[queue-weight", "[queue-parent-self"]


@pytest.mark.anyio
async def test_warnings_are_part_of_the_answer(judge: AdmissionReviewer) -> None:
    document = queue(weight=1, state="Open", capability={"cpu": "1"}, deserved={"cpu": "2"})
    answer = await response(judge, "/queues/validate", review("queues", document))
    assert answer["allowed"] is True
    assert answer["warnings"][0].startswith("[queue-deserved] spec.deserved.cpu is 2, ")


@pytest.mark.anyio
async def test_the_user_of_the_review_is_who_asks(judge: AdmissionReviewer) -> None:
    quota = {"metadata": {"name": "q", "labels": {QUOTA_LABEL: "a"}}, "spec": {}}
    asked = {"namespace": "default"}
    alice = await response(judge, "/resourcequotas/validate", review("resourcequotas", quota, **asked))
    user = {"username": Options().controllers_user}
    body = review("resourcequotas", quota, **asked, userInfo=user)
    assert (alice["allowed"], (await response(judge, "/resourcequotas/validate", body))["allowed"]) == (
        False,
        True,
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/queues/validate", b"", 400, "the body is no AdmissionReview"),
        ("/queues/validate", b"{", 400, "the body is no AdmissionReview"),
        ("/queues/validate", b"\xff", 400, "the body is no AdmissionReview"),
        ("/queues/validate", b"[" * 100_000, 400, "the body is no AdmissionReview"),
        ("/queues/validate", b"{}", 400, "the body is something of no version without a request; send an"),
        (
            "/queues/validate",
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":null}',
            400,
            "AdmissionReview of admission.k8s.io/v1beta1 without a request; send an",
        ),
        (
            "/queues/validate",
            review("pods", {}),
            400,
            "the review is about pods, and this path is for queues",
        ),
        (
            "/queues/judge",
            b"{}",
            404,
            "is not a path of this server; use one of /queues/mutate, /queues/validate",
        ),
    ],
)
async def test_what_is_no_review_is_refused_in_a_sentence(
    judge: AdmissionReviewer, path: str, body: bytes, status: int, sentence: str
) -> None:
    found, text = await ask(judge, path, body)
    assert found == status
    assert sentence in text


@pytest.mark.anyio
@pytest.mark.parametrize("document", [None, 7, "queue", [], {}, {"spec": 3}, {"metadata": [], "spec": None}])
@pytest.mark.parametrize("path", list(PATHS))
async def test_whatever_the_object_is_there_is_an_answer(
    judge: AdmissionReviewer, path: str, document: object
) -> None:
    for operation in ("CREATE", "UPDATE", "DELETE", "CONNECT", ""):
        body = review(PATHS[path][0], document, operation=operation, oldObject=document)
        assert (await response(judge, path, body))["allowed"] in (True, False)


@pytest.mark.anyio
async def test_a_body_has_a_limit(judge: AdmissionReviewer, monkeypatch: pytest.MonkeyPatch) -> None:
    body = review("queues", queue(weight=1))
    assert (await ask(judge, "/queues/validate", body, parts=3))[0] == 200
    monkeypatch.setattr(server, "LARGEST_BODY", len(body) - 1)
    status, text = await ask(judge, "/queues/validate", body, parts=3)
    assert (status, text.split(";")[0]) == (413, f"the review has more than {len(body) - 1} bytes")


@pytest.mark.anyio
async def test_only_a_post_is_a_review(judge: AdmissionReviewer) -> None:
    status, text = await ask(judge, "/queues/validate", b"", method="GET")
    assert (status, text) == (405, "/queues/validate takes a POST of an AdmissionReview\n")


@pytest.mark.anyio
async def test_nothing_is_judged_before_the_cluster_is_known() -> None:
    cold = AdmissionReviewer(Options())
    assert (await ask(cold, "/healthz", b"", "GET"))[0] == 200
    assert (await ask(cold, "/readyz", b"", "GET"))[0] == 503
    status, text = await ask(cold, "/queues/validate", review("queues", queue()))
    assert (status, text.split(":")[0]) == (503, "not ready")
    cold.warm.set()
    assert (await ask(cold, "/readyz", b"", "GET"))[0] == 200


@pytest.mark.anyio
async def test_a_refusal_waits_for_what_is_on_its_way(judge: AdmissionReviewer) -> None:
    body = review("queues", queue("child", parent="parent", weight=1, state="Open"))
    asking = asyncio.create_task(response(judge, "/queues/validate", body))
    await asyncio.sleep(0)
    judge.feed([Upserted(object=Queue(metadata=QueueMetadata(name="other")))])
    await asyncio.sleep(0)
    assert not asking.done()
    judge.feed([Upserted(object=Queue(metadata=QueueMetadata(name="parent")))])
    assert (await asking)["allowed"] is True
    judge.feed([Deleted(kind="Queue", key="parent")])
    assert (await response(judge, "/queues/validate", body))["allowed"] is False


@pytest.mark.anyio
async def test_a_namespace_that_is_on_its_way_gives_its_job_its_queue(judge: AdmissionReviewer) -> None:
    group = {"metadata": {"name": "g", "namespace": "team"}, "spec": {"queue": "default"}}
    asking = asyncio.create_task(
        response(judge, "/podgroups/mutate", review("podgroups", group, namespace="team"))
    )
    await asyncio.sleep(0)
    annotations = {"scheduling.volcano.sh/queue-name": "blue"}
    judge.feed([Upserted(object=Namespace(metadata=Metadata(name="team", annotations=annotations)))])
    patch = json.loads(base64.b64decode((await asking)["patch"]))
    assert patch == [{"op": "add", "path": "/spec/queue", "value": "blue"}]


def test_every_rule_that_may_pass_is_a_rule() -> None:
    assert all_rules().keys() >= RULES_ABOUT_OTHERS
    assert {"queue-parent-exists", "pod-queue-open", "pod-group-missing"} <= RULES_ABOUT_OTHERS
    assert not {"queue-weight", "job-tasks", "pod-queue-set-aside"} & RULES_ABOUT_OTHERS


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ["--url", "http://127.0.0.1:1"],
            "--url http://127.0.0.1:1: write https://HOST:PORT, without a path",
        ),
        (
            ["--url", "https://h:1/queues"],
            "--url https://h:1/queues: write https://HOST:PORT, without a path",
        ),
        (["--url", "https://h:x"], "--url https://h:x: write https://HOST:PORT, without a path"),
        (["--scheduler-name", "a'b"], "--scheduler-name a'b: write small letters, digits, - and . only"),
        (["--certificate-validity", "1"], "--certificate-validity: '1' is not a duration"),
        (["--certificate-validity", "9999h"], "--certificate-validity 9999h: write at least 1s and at most"),
        (["--host", "127.0.0.1", "--port", "1", "--kubeconfig", "missing"], "error: "),
    ],
)
def test_a_wrong_flag_is_named(flags: list[str], sentence: str) -> None:
    done = subprocess.run(
        [MAAR, "webhooks", *flags], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "a bug" not in done.stderr


# --- the configurations


def by_name(name: str) -> Registration:
    return next(one for one in registrations() if one.name == f"volcano-admission-service-{name}")


def test_every_configuration_leads_to_a_path_that_is_answered_in_a_safe_way() -> None:
    found = registrations()
    assert sorted(one.name.removeprefix("volcano-admission-service-") for one in found) == [
        "commands-validate", "cronjobs-validate", "jobflows-validate", "jobs-mutate", "jobs-validate",
        "jobtemplates-validate", "podgroups-mutate", "podgroups-validate",
        "pods-validate", "queues-mutate", "queues-validate", "resourcequotas-validate",
    ]  # fmt: skip
    for one in found:
        (hook,) = one.webhooks
        resource, verb = one.name.removeprefix("volcano-admission-service-").split("-")
        assert hook["clientConfig"]["service"]["path"] == f"/{resource}/{verb}"  # type: ignore[index]
        assert PATHS[f"/{resource}/{verb}"] == (resource, verb)
        assert one.place.plural.startswith("mutating" if verb == "mutate" else "validating")
        kept = (hook["failurePolicy"], hook["matchPolicy"], hook["sideEffects"], hook["timeoutSeconds"])
        assert kept == ("Fail", "Equivalent", "None", 5)


def test_the_quota_guard_selects_the_label_of_the_quota_manager() -> None:
    (hook,) = by_name("resourcequotas-validate").webhooks
    assert yaml.safe_dump(hook["objectSelector"]) == yaml.safe_dump(
        {"matchExpressions": [{"key": QUOTA_LABEL, "operator": "Exists"}]}
    )


def test_the_scheduler_names_are_part_of_what_is_kept() -> None:
    (hook,) = by_name("pods-validate").webhooks
    shipped = Wanted(("volcano",)).of(hook, b"ca")
    assert shipped["matchConditions"] == hook["matchConditions"]
    other = Wanted(("maar", "volcano"), "https://127.0.0.1:1").of(hook, b"ca")
    assert other == {
        "name": "validatepod.volcano.sh",
        "clientConfig": {"url": "https://127.0.0.1:1/pods/validate", "service": None, "caBundle": "Y2E="},
        "matchConditions": [
            {"name": "scheduler-name", "expression": "object.spec.schedulerName in ['maar', 'volcano']"}
        ],
    }


# --- the certificates


def served(keys: Keys) -> x509.Certificate:
    return x509.load_pem_x509_certificate(keys.certificate)


def test_good_keys_stay_as_they_are() -> None:
    keys = renewed(None, service_hosts(), NOW, 90 * DAY)
    names = served(keys).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["maar-webhooks.maar-system.svc"]
    served(keys).verify_directly_issued_by(x509.load_pem_x509_certificate(keys.authority))
    assert renewed(keys, service_hosts(), NOW + 59 * DAY, 90 * DAY) is keys


def test_a_certificate_is_renewed_in_time_and_by_the_same_authority() -> None:
    keys = renewed(None, ("a",), NOW, 90 * DAY)
    later = renewed(keys, ("a",), NOW + 61 * DAY, 90 * DAY)
    assert later.authority == keys.authority
    assert served(later).not_valid_after_utc == NOW + 151 * DAY
    assert later.trusted(NOW + 61 * DAY) == keys.authority


def test_an_authority_is_replaced_in_time_and_trusted_a_little_longer() -> None:
    keys = renewed(None, ("a",), NOW, 90 * DAY)
    then = NOW + 721 * DAY
    later = renewed(renewed(keys, ("a",), NOW + 700 * DAY, 90 * DAY), ("a",), then, 90 * DAY)
    assert later.authority != keys.authority
    assert later.trusted(then) == later.authority + keys.authority
    assert later.trusted(then + OVERLAP) == later.authority


def test_a_host_that_is_missing_is_added_to_the_others() -> None:
    keys = renewed(renewed(None, ("a",), NOW), ("127.0.0.1",), NOW)
    assert renewed(keys, ("a",), NOW) is keys
    assert renewed(keys, ("127.0.0.1",), NOW) is keys


@pytest.mark.parametrize("field", ["authority", "authority_key", "certificate", "key"])
@pytest.mark.parametrize("value", [b"", b"rubbish", "another"])
def test_keys_that_do_not_belong_together_are_made_anew(field: str, value: bytes | str) -> None:
    keys, other = renewed(None, ("a",), NOW), renewed(None, ("a",), NOW)
    wrong = getattr(other, field) if isinstance(value, str) else value
    made = renewed(replace(keys, **{field: wrong}), ("a",), NOW)
    assert made.authority not in (keys.authority, other.authority)
    served(made).verify_directly_issued_by(x509.load_pem_x509_certificate(made.authority))
