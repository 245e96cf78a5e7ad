"""Ask a real API server for the answers in patch_cases.yaml, and write them down there.

The server is one on which nothing matters and on which the CRDs of deploy/crds are installed:

    python tests/unit/embedded/record_patch_cases.py https://127.0.0.1:6443 TOKEN
"""

import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

CASES: Final = Path(__file__).with_name("patch_cases.yaml")
NAMESPACE: Final = "patch-cases"
HERE: Final = f"namespaces/{NAMESPACE}"
PLACES: Final = {
    "ConfigMap": f"/api/v1/{HERE}/configmaps",
    "Pod": f"/api/v1/{HERE}/pods",
    "PodTemplate": f"/api/v1/{HERE}/podtemplates",
    "Service": f"/api/v1/{HERE}/services",
    "PodDisruptionBudget": f"/apis/policy/v1/{HERE}/poddisruptionbudgets",
    "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "PodGroup": f"/apis/scheduling.volcano.sh/v1beta1/{HERE}/podgroups",
    "Job": f"/apis/batch.volcano.sh/v1alpha1/{HERE}/jobs",
    "Thing": f"/apis/example.io/v1/{HERE}/things",
}
PATCHES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
# What the server adds on its own, and what no case is about.
ADDED: Final = """
    clusterIP clusterIPs creationTimestamp currentHealthy defaultMode dequeueStrategy desiredHealthy
    disruptionsAllowed dnsPolicy enableServiceLinks expectedPods generation imagePullPolicy
    internalTrafficPolicy ipFamilies ipFamilyPolicy namespace observedGeneration phase preemptionPolicy
    priority qosClass resourceVersion restartPolicy schedulerName sessionAffinity
    terminationGracePeriodSeconds terminationMessagePath terminationMessagePolicy
"""
NOISE: Final = frozenset(ADDED.split())
NOISE_IF_EMPTY: Final = frozenset(
    {"f:metadata", "f:resources", "f:securityContext"}
    | {"loadBalancer", "metadata", "resources", "securityContext", "status"}
)
UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
DEFAULT_TOLERATION: Final = "node.kubernetes.io/"

Json = dict[str, Any]


class Recorder:
    """Puts questions to a server."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token
        self._context = ssl._create_unverified_context()  # noqa: S323, SLF001 - it has made its own certificate

    def call(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Json:
        """The server's answer, be it a refusal."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, headers, method=method)  # noqa: S310 - ours
        try:
            with urllib.request.urlopen(request, context=self._context) as answer:  # noqa: S310 - ours
                found: Json = json.load(answer)
        except urllib.error.HTTPError as error:
            found = json.load(error)
        return found

    def answers(self, kind: str, steps: list[Json]) -> Iterator[Json]:
        """What each step gives, as a difference to what was there before, or how it is refused."""
        place, seen, before = PLACES[kind], dict[str, int](), dict[str, Any]()
        self._remove(f"{place}/x")
        for number, step in enumerate(steps, start=1):
            time.sleep(1.05 - time.time() % 1)  # so that each step has a second of its own
            answer = self._ask(place, step)
            if answer["kind"] == "Status":
                refused = {"code": answer["code"], "message": answer["message"]}
                causes = answer.get("details", {}).get("causes")
                yield {"refused": refused | ({"causes": causes} if causes else {})}
                continue
            for entry in answer["metadata"].get("managedFields", []):
                if "time" in entry:
                    entry["time"] = seen.setdefault(entry["time"], number)
            after = quiet(answer)
            yield {"gives": difference(before, after)}
            before = after
        self._remove(f"{place}/x")

    def _ask(self, place: str, step: Json) -> Json:
        query = f"?fieldManager={step.get('by', 'someone')}" + ("&force=true" if step.get("force") else "")
        at = f"{place}/x" + (f"/{step['subresource']}" if "subresource" in step else "")
        if "create" in step:
            return self.call("POST", place + query, step["create"])
        if "update" in step:
            return self.call("PUT", at + query, step["update"])
        patch = next(name for name in PATCHES if name in step)
        return self.call("PATCH", at + query, step[patch], PATCHES[patch])

    def _remove(self, path: str) -> None:
        self.call("PATCH", path, {"metadata": {"finalizers": None}}, PATCHES["merge"])
        self.call("DELETE", path, {"gracePeriodSeconds": 0})


def difference(before: Json, after: Json) -> Json:
    """What to merge into the one to get the other; null takes out."""
    changed: Json = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        there = before.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            if there != value:
                changed[name] = difference(there, value)
        elif there != value:
            changed[name] = value
    return changed


def quiet(value: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    """The value, or a set of its fields, without the noise."""
    if isinstance(value, list):
        return [quiet(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        name: quiet(below) for name, below in value.items() if not _is_noise(name.removeprefix("f:"), below)
    }
    return {
        name: below
        for name, below in kept.items()
        if below != {} or (value[name] == {} and name not in NOISE_IF_EMPTY)
    }


def _is_noise(name: str, value: Any) -> bool:  # noqa: ANN401 - whatever JSON has
    if name == "uid":
        return isinstance(value, dict) or bool(UID.fullmatch(value))
    if name == "tolerations" and isinstance(value, list):
        return all(item["key"].startswith(DEFAULT_TOLERATION) for item in value)
    return name in NOISE


def main(address: str, token: str) -> None:
    """Record all the cases anew."""
    text = CASES.read_text()
    cases, recorder = yaml.safe_load(text), Recorder(address, token)
    recorder.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    recorder.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", cases["definition"])
    while "items" not in recorder.call("GET", PLACES["Thing"]):
        time.sleep(1)  # until the new kind is served
    for case in cases["patches"]:
        live = cases["objects"][case["live"]]
        question = {name: case[name] for name in ("title", "live", *PATCHES) if name in case}
        _, answer = recorder.answers(live["kind"], [{"create": live}, question])
        forget_owners(answer.get("gives", {}))
        case.clear()
        case.update(question | answer)
    for case in cases["histories"]:
        steps = [{k: v for k, v in step.items() if k not in ("gives", "refused")} for step in case["steps"]]
        kind = next(iter(steps[0].values()))["kind"]
        answers = recorder.answers(kind, steps)
        case["steps"] = [step | answer for step, answer in zip(steps, answers, strict=True)]
    CASES.write_text(text[: text.index("\n\n") + 1] + "".join(written(cases)))


def forget_owners(gives: Json) -> None:
    """Patches alone have no owners."""
    gives.get("metadata", {}).pop("managedFields", None)
    if gives.get("metadata") == {}:
        del gives["metadata"]


def written(cases: Json) -> Iterator[str]:
    """The cases, each of their parts on a line of its own if it is not too long."""
    yield "\n"
    yield from _lines({"definition": cases["definition"]}, "")
    yield "\nobjects:\n"
    yield from _lines(cases["objects"], "  ")
    yield "\npatches:\n"
    for case in cases["patches"]:
        yield from _item(case, "  ")
    yield "\nhistories:\n"
    for case in cases["histories"]:
        yield from _item({"title": case["title"]}, "  ")
        yield "    steps:\n"
        for step in case["steps"]:
            yield from _item(step, "      ")


def _item(part: Json, indentation: str) -> Iterator[str]:
    lines = _lines(part, f"{indentation}  ")
    yield f"{indentation}- {next(lines).lstrip()}"
    yield from lines


def _lines(part: Json, indentation: str) -> Iterator[str]:
    for name, value in part.items():
        text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=100, allow_unicode=True)
        first, *rest = text.removesuffix("...\n").splitlines()
        yield f"{indentation}{name}: {first}\n"
        yield from (f"{indentation}    {line.strip()}\n" for line in rest)


if __name__ == "__main__":
    main(*sys.argv[1:])
