"""The definitions that API servers check and the rules of admission say the same, under the same ids."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from maar.core.admission.cluster import KnownCluster
from maar.core.admission.plain import at
from maar.core.admission.reading import read
from maar.core.admission.request import Request
from maar.core.admission.review import review
from maar.core.admission.rules import all_rules
from maar.core.model.events import Upserted
from maar.core.model.queue import Queue

ROOT = Path(__file__).parents[3]
CASES = yaml.safe_load((ROOT / "tests/unit/crd_cases.yaml").read_text(encoding="utf-8"))
RESOURCES = {
    "Queue": "queues", "PodGroup": "podgroups", "Job": "jobs", "Command": "commands", "CronJob": "cronjobs",
    "JobFlow": "jobflows", "JobTemplate": "jobtemplates",
}  # fmt: skip
RULE = re.compile(r"\[([a-z-]+)\]")
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
ONLY_IN_THE_SCHEMA = (  # about fields that nobody in Maar reads
    "a network topology mode other than hard and soft is refused",
    "smaller groups have at least one pod",
    "a phase that pod groups do not have is refused",
    "an unknown topology policy is refused",
)


def known() -> KnownCluster:
    """A cluster with every queue that a case names and that can be the name of one."""
    cluster = KnownCluster()
    names = {str(case["object"].get("spec", {}).get("queue", "default")) for case in CASES}
    queues = [
        read(Queue, {"metadata": {"name": name}}) for name in names if name.islower() and "_" not in name
    ]
    cluster.feed([Upserted(object=queue) for queue in queues])
    return cluster


def request(case: dict[str, Any]) -> Request:
    """The case as a request; for a definition a template may be anything, here it has to make pods."""
    document = case["object"]
    resource = RESOURCES[document["kind"]]
    for task in document.get("spec", {}).get("tasks", []) if resource == "jobs" else ():
        if not at(task, "template", "spec", "containers"):
            task["template"] = TEMPLATE
    return Request(operation="CREATE", resource=resource, namespace="default", new=document)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["title"]))
def test_what_a_definition_refuses_admission_refuses_by_the_same_rule(case: dict[str, Any]) -> None:
    if case["title"] in ONLY_IN_THE_SCHEMA:
        pytest.skip("only the schema knows this field")
    verdict = review(request(case), known())
    rules = {one.rule for one in verdict.refusals}
    expected = RULE.match(case["refused"] or "")
    if case["refused"] is None:
        assert verdict.refusals == ()
    elif expected:
        assert expected[1] in rules
    else:
        assert rules


def test_every_rule_of_the_definitions_is_a_rule_of_admission() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "deploy/crds").glob("*.yaml"))
    ids = set(re.findall(r'message: "\[([a-z-]+)\]', text))
    assert ids
    assert ids <= set(all_rules())


def test_every_rule_says_what_it_asks() -> None:
    for name, sentence in all_rules().items():
        assert re.fullmatch(r"[A-Z].*\.\)?", sentence), name
