"""Every rule of admission, by the id that refusals and warnings carry."""

from typing import Final

from doc_site.reference.tables import code, plain, table
from maar.core.admission.defaults import DEFAULTS
from maar.core.admission.rules import RULES_BY_RESOURCE

_HEAD: Final = """# Rules of admission

A refusal or a warning of admission begins with the id of its rule, such as `[queue-weight]`. This is
every rule, generated from the code; [the rule map](../rules.md) has the scenarios that show each. `maar
validate -f FILES` asks the same rules without a cluster.
"""


def page() -> str:
    """The page: what is filled in, and the rules of each resource."""
    filled_in = [
        (code(name), code(resource), plain(rule.__doc__ or ""))
        for resource, rules in DEFAULTS.items()
        for name, rule in rules.items()
    ]
    lines = [_HEAD, "## What is filled in", "", table(("id", "resource", "what it does"), filled_in)]
    for resource, book in RULES_BY_RESOURCE.items():
        rows = [(code(name), plain(sentence)) for name, sentence in book.sentences()]
        lines += [f"## {resource}", "", table(("id", "the rule"), rows)]
    return "\n".join(lines)
