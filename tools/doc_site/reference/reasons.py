"""Every reason why something waits, with what to do about it."""

from typing import Final

from doc_site.reference.tables import table
from maar.core.model.reasons import WHAT_TO_DO, Reason

_HEAD: Final = """# Reasons and what to do

Everything that waits has one of these reasons. It is in the condition `Unschedulable` of the pod group
(`kubectl describe podgroup`), in `maar plan`, and with the smallest change that would start the job in
[`maar explain`](../explain.md). Each reason has its sentence, with names and numbers, in [the
specification](../specification/reasons.md).
"""


def page() -> str:
    """The page: a reason, and what its reader can do."""
    if missing := [reason for reason in Reason if reason not in WHAT_TO_DO]:
        raise SystemExit(f"say what to do about {', '.join(missing)}: WHAT_TO_DO in core/model/reasons.py")
    rows = [(f"[{one}](../specification/reasons.md#{one.lower()})", WHAT_TO_DO[one]) for one in Reason]
    return f"{_HEAD}\n{table(('reason', 'what to do'), rows)}"
