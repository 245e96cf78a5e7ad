"""What a change would do, for people: the queues and jobs that it concerns, and who is evicted for whom."""

from collections.abc import Iterator
from math import isnan
from typing import Final

from maar.core.answers.whatif.answer import JobChanges, WhatIfColumns
from maar.core.model.durations import time_to_come
from maar.core.model.resources import PODS, quantity_text, roughly
from maar.core.views.drawing import WIDTH, Line, Part, Row, table

Json = dict[str, object]

_MOST_LINES: Final = 40
_ARROW: Final = "→"


def what_if_lines(answer: WhatIfColumns, width: int = WIDTH) -> Iterator[Line]:
    """Draw an answer: what changes in queues and jobs, then who is evicted."""
    yield from _queues(answer, width)
    yield ()
    yield from _jobs(answer, width)
    yield ()
    yield from _evictions(answer)


def _queues(answer: WhatIfColumns, width: int) -> Iterator[Line]:
    columns = answer.queues
    rows, changed = list[Row](), dict[str, None]()
    for index, (name, resource) in enumerate(zip(columns.queue, columns.resource, strict=True)):
        deserved = int(columns.deserved_before[index]), int(columns.deserved_after[index])
        used = int(columns.used_before[index]), int(columns.used_after[index])
        if resource == PODS or (deserved[0] == deserved[1] and used[0] == used[1]):
            continue
        cells = (Part(resource), _amounts(resource, deserved), _amounts(resource, used))
        rows.append(Row("" if name in changed else name, "", cells))
        changed[name] = None
    others = len({*columns.queue}) - len(changed)
    if not rows:
        yield (Part("Queues: nothing changes"),)
        return
    yield from table(("QUEUE", "RESOURCE", " DESERVED", " USED"), rows, width)
    if others:
        yield (Part(f"{_counted(others, 'other queue')}: nothing changes", "dim"),)


def _jobs(answer: WhatIfColumns, width: int) -> Iterator[Line]:
    columns = answer.jobs
    concerned = [index for index in range(len(columns.group)) if _is_concerned(columns, index)]
    if not concerned:
        yield (Part("Jobs: nothing changes"),)
        return
    rows = [Row(columns.job[index], "", _job_cells(columns, index)) for index in concerned[:_MOST_LINES]]
    yield from table(("JOB", "QUEUE", " RUNNING", " WAITING", " EVICTED", "START"), rows, width)
    if len(concerned) > len(rows):
        yield (Part(f"... and {len(concerned) - len(rows)} more jobs (-o json has them all)"),)
    others = len(columns.group) - len(concerned)
    if others:
        yield (Part(f"{_counted(others, 'other job')}: nothing changes", "dim"),)


def _is_concerned(columns: JobChanges, index: int) -> bool:
    return bool(
        columns.running_before[index] != columns.running_after[index]
        or columns.waiting_before[index] != columns.waiting_after[index]
        or columns.evicted[index]
        or _start(columns, index)
    )


def _job_cells(columns: JobChanges, index: int) -> tuple[Part, ...]:
    running = _change(str(columns.running_before[index]), str(columns.running_after[index]))
    waiting = _change(str(columns.waiting_before[index]), str(columns.waiting_after[index]))
    evicted = int(columns.evicted[index])
    lost = Part(str(evicted) if evicted else "", "yellow")
    return Part(columns.queue[index]), running, waiting, lost, Part(_start(columns, index))


def _start(columns: JobChanges, index: int) -> str:
    """How the start of a job changes; empty where it does not."""
    before, after = float(columns.start_before[index]), float(columns.start_after[index])
    if before == after or (isnan(before) and isnan(after)):
        return ""
    if columns.running_after[index] and not columns.running_before[index]:
        return f"{_time(before)} {_ARROW} now" if not isnan(before) else "now"
    return f"{_time(before)} {_ARROW} {_time(after)}"


def _time(seconds: float) -> str:
    return "unknown" if isnan(seconds) else time_to_come(seconds)


def _evictions(answer: WhatIfColumns) -> Iterator[Line]:
    columns = answer.evictions
    if not columns.pod:
        yield (Part("Would evict: nothing"),)
        return
    yield (Part(f"Would evict {_counted(len(columns.pod), 'pod')}:"),)
    rows = list(zip(columns.pod, columns.queue, columns.beneficiary, columns.action, strict=True))
    jobs = dict(zip(answer.jobs.group, answer.jobs.job, strict=True))
    for pod, queue, beneficiary, action in rows[:_MOST_LINES]:
        whom = f" for {jobs.get(beneficiary, beneficiary)}" if beneficiary else ""
        yield (Part(f"  {pod} of queue {queue or 'none'}{whom} ({action})"),)
    if len(rows) > _MOST_LINES:
        yield (Part(f"  ... and {len(rows) - _MOST_LINES} more (-o json has them all)"),)


def _amounts(resource: str, both: tuple[int, int]) -> Part:
    before, after = (roughly(resource, one) for one in both)
    if both[0] != both[1] and before == after:  # a difference that rounding hides
        before, after = (quantity_text(resource, one) for one in both)
    return _change(before, after)


def _change(before: str, after: str) -> Part:
    return Part(before) if before == after else Part(f"{before} {_ARROW} {after}", "green")


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def what_if_data(answer: WhatIfColumns) -> Json:
    """An answer as plain data, row by row, with exact quantities."""
    queues, jobs, evictions = answer.queues, answer.jobs, answer.evictions
    amounts: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for index, (name, resource) in enumerate(zip(queues.queue, queues.resource, strict=True)):
        row = amounts.setdefault(name, {"deserved": {}, "used": {}})
        columns = {
            "deserved": {"before": queues.deserved_before, "after": queues.deserved_after},
            "used": {"before": queues.used_before, "after": queues.used_after},
        }
        for part, both in columns.items():
            for moment, column in both.items():
                row[part].setdefault(moment, {})[resource] = quantity_text(resource, int(column[index]))
    return {
        "evicts": answer.evicts,
        "queues": amounts,
        "jobs": [_job_data(jobs, index) for index in range(len(jobs.group))],
        "evictions": [
            dict(zip(("pod", "podGroup", "queue", "action", "for", "why"), row, strict=True))
            for row in zip(*evictions, strict=True)
        ],
        "binds": dict(zip(answer.binds.pod, answer.binds.node, strict=True)),
    }


def _job_data(jobs: JobChanges, index: int) -> Json:
    return {
        "job": jobs.job[index],
        "podGroup": jobs.group[index],
        "queue": jobs.queue[index],
        "running": _pair(jobs.running_before[index], jobs.running_after[index]),
        "waiting": _pair(jobs.waiting_before[index], jobs.waiting_after[index]),
        "evicted": int(jobs.evicted[index]),
        "start": {
            "before": _start_data(float(jobs.start_before[index]), jobs.certainty_before[index]),
            "after": _start_data(float(jobs.start_after[index]), jobs.certainty_after[index]),
        },
        "reason": jobs.reason[index],
    }


def _pair(before: object, after: object) -> Json:
    return {"before": int(str(before)), "after": int(str(after))}


def _start_data(time: float, certainty: str) -> Json | None:
    if isnan(time):
        return None
    return {"time": time_to_come(time), "certainty": certainty}
