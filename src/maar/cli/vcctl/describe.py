"""A job as `vcctl job view` prints it: two blanks a level, labels as wide as those beside them, a TAB."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from maar.cli.tables import Document
from maar.core.views.job_rows import since
from maar.core.views.job_summary import EventSummary, newest_last

_STEP: Final = "  "
_COUNTS: Final = (
    ("pending", "Pending"), ("running", "Running"), ("succeeded", "Succeeded"), ("failed", "Failed"),
    ("terminating", "Terminating"), ("unknown", "Unknown"), ("retryCount", "RetryCount"),
    ("minAvailable", "Min Available"), ("version", "Version"),
)  # fmt: skip
_EVENT_HEADINGS: Final = ("Type", "Reason", "Age", "Form", "Message")  # Form as Volcano spells it
_EVENT_WIDTHS: Final = (15, 40, 30, 40, 0)

Pairs = Sequence[tuple[str, object]]


def describe(
    job: Document, events: Sequence[EventSummary], now: float, *, with_conditions: bool = True
) -> str:
    """All of a job, and its events."""
    metadata, spec, status = _map(job, "metadata"), _map(job, "spec"), _map(job, "status")
    lines = [
        *_pairs(
            0,
            [
                ("Name", metadata.get("name")),
                ("Namespace", metadata.get("namespace")),
                ("Labels", _marks(metadata.get("labels"))),
                ("Annotations", _marks(metadata.get("annotations"))),
                ("API Version", ""),  # empty in Volcano's, too: its client drops them
                ("Kind", ""),
            ],
        ),
        "Metadata:",
        *_pairs(
            1,
            [
                ("Creation Timestamp", metadata.get("creationTimestamp")),
                ("Generate Name", metadata.get("generateName")),
                ("Generation", metadata.get("generation")),
                ("Resource Version", metadata.get("resourceVersion")),
                ("UID", metadata.get("uid")),
            ],
        ),
        "Spec:",
        *_spec(spec),
        "Status:",
        *_status(status, with_conditions=with_conditions),
        *_events(events, now),
    ]
    return "\n".join(lines)


def _spec(spec: Document) -> Iterator[str]:
    yield from _pairs(1, [("Min Available", spec.get("minAvailable"))])
    yield f"{_STEP}Plugins:"
    plugins = _map(spec, "plugins")
    shown = [("Env", "env"), ("Ssh", "ssh")]
    yield from _pairs(
        2, [(label, json.dumps(plugins[name] or [])) for label, name in shown if name in plugins]
    )
    yield from _pairs(1, [("Scheduler Name", spec.get("schedulerName"))])
    yield f"{_STEP}Tasks:"
    for task in _list(spec, "tasks"):
        yield from _pairs(2, [("Name", task.get("name")), ("Replicas", task.get("replicas"))])
        yield f"{_STEP * 2}Template:"
        template = _map(task, "template")
        yield from _tree(3, {"Metadata": _map(template, "metadata"), "Spec": _map(template, "spec")})


def _status(status: Document, *, with_conditions: bool) -> Iterator[str]:
    counts = [(label, status.get(name)) for name, label in _COUNTS]
    yield from _pairs(1, [(label, count) for label, count in counts if isinstance(count, int) and count > 0])
    state = _map(status, "state")
    if state:
        yield f"{_STEP}State:"
        yield from _pairs(2, [("Phase", state.get("phase"))])
    if controlled := _map(status, "controlledResources"):
        yield f"{_STEP}Controlled Resources:"
        yield from _pairs(2, sorted(controlled.items()))
    conditions = _list(status, "conditions")
    if conditions and with_conditions:
        yield f"{_STEP}Conditions:"
        for condition in conditions:
            yield from _pairs(
                2,
                [
                    ("Status", condition.get("status")),
                    ("TransitionTime", condition.get("lastTransitionTime")),
                ],
            )


def _events(events: Sequence[EventSummary], now: float) -> Iterator[str]:
    if not events:
        yield "Events:\t<none>"
        return
    yield "Events:"
    yield _row(_EVENT_HEADINGS)
    yield _row(["-" * len(heading) for heading in _EVENT_HEADINGS])
    for event in newest_last(events):
        source = event.source.component or event.reporting_component
        yield _row(
            (event.type, event.reason, since(event.last_seen, now), source, " ".join(event.message.split()))
        )


def _row(cells: Sequence[str]) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, _EVENT_WIDTHS, strict=True)).rstrip()


def _tree(level: int, values: Mapping[str, object]) -> Iterator[str]:
    """Whatever a template has, in the order in which it has it."""
    for name, value in values.items():
        shown = f"{name[:1].upper()}{name[1:]}" if name.isalpha() else name  # labels and the like as they are
        label = f"{_STEP * level}{shown}:"
        if isinstance(value, dict):
            if value:
                yield label
                yield from _tree(level + 1, value)
        elif isinstance(value, list):
            yield label
            for item in value:
                if isinstance(item, dict):
                    yield from _tree(level + 1, item)
                else:
                    yield f"{_STEP * (level + 1)}{item}"
        elif value is not None:
            yield f"{label}\t{value}"


def _pairs(level: int, pairs: Pairs) -> Iterator[str]:
    width = max((len(label) for label, _ in pairs), default=0) + 1
    for label, value in pairs:
        yield f"{_STEP * level}{f'{label}:'.ljust(width)}\t{'' if value is None else value}"


def _marks(marks: object) -> str:
    return json.dumps(marks, separators=(",", ":"), sort_keys=True) if marks else "<none>"


def _map(document: Document, name: str) -> Document:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _list(document: Document, name: str) -> list[Document]:
    value = document.get(name)
    return (
        [cast(Document, item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    )
