"""All rules of admission: by resource, and by id with their sentences."""

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from maar.core.admission import (
    capability_rules,
    command_rules,
    cron_job_rules,
    deletion_rules,
    hierarchy_rules,
    job_flow_rules,
    job_rules,
    pod_group_rules,
    pod_rules,
    queue_rules,
    queue_warnings,
    quota_rules,
    sum_rules,
    tree_rules,
)
from maar.core.admission.case import Case
from maar.core.admission.defaults import DEFAULTS
from maar.core.admission.queue_case import QueueCase, read_queue
from maar.core.admission.request import Verdict
from maar.core.admission.rulebook import Rule, Rulebook


class ResourceRules(Protocol):
    """The rules of some resource."""

    def judge(self, case: Case) -> Verdict:
        """Return the findings against a case, and the warnings."""

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Every rule by its id, with its sentence."""

    def ids_about_others(self) -> Iterator[str]:
        """The ids of the rules whose answer a change of another object can overturn."""


_QUEUE_RULES: Final[Mapping[str, Rule[QueueCase]]] = {
    **queue_rules.RULES,
    **tree_rules.RULES,
    **sum_rules.RULES,
    **capability_rules.RULES,
}
RULES_BY_RESOURCE: Final[Mapping[str, ResourceRules]] = {
    "queues": Rulebook(
        noun="queue",
        read=read_queue,
        readable={**queue_rules.READABLE, **hierarchy_rules.READABLE},
        annotations=(hierarchy_rules.PATH, hierarchy_rules.WEIGHTS),
        create=_QUEUE_RULES,
        update=_QUEUE_RULES,
        delete=deletion_rules.RULES,
        warnings=queue_warnings.WARNINGS,
    ),
    "podgroups": pod_group_rules.BOOK,
    "jobs": job_rules.BOOK,
    "cronjobs": cron_job_rules.BOOK,
    "jobflows": job_flow_rules.FLOW_BOOK,
    "jobtemplates": job_flow_rules.TEMPLATE_BOOK,
    "pods": pod_rules.BOOK,
    "commands": command_rules.BOOK,
    "resourcequotas": quota_rules.BOOK,
}

RULES_ABOUT_OTHERS: Final = frozenset(
    name for book in RULES_BY_RESOURCE.values() for name in book.ids_about_others()
)


def all_rules() -> dict[str, str]:
    """Every rule by its id, defaults first, with its sentence."""
    found = {name: rule.__doc__ or "" for rules in DEFAULTS.values() for name, rule in rules.items()}
    for book in RULES_BY_RESOURCE.values():
        found.update(book.sentences())
    return found
