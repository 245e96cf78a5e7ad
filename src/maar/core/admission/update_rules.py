"""What an update of a job may change: how many pods it has and waits for, and its priority.

Both sides are compared with their defaults: what Maar fills in is not a change by a client. Values
are compared by what they mean: typed clients leave out what is empty, or write it where it was left
out, and give quantities their canonical form.
"""

from collections.abc import Iterator
from typing import Final

from maar.core.admission.defaults import with_defaults
from maar.core.admission.job_case import JobCase
from maar.core.admission.plain import at, below, brief, list_at, map_at
from maar.core.admission.request import Problem
from maar.core.model.resources import BadAmountError, amount

_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
_QUANTITIES: Final = frozenset({"requests", "limits", "overhead"})


def means_the_same(one: object, other: object, field: object = "") -> bool:
    """Whether two values of a field differ in nothing but how they are written."""
    if isinstance(one, dict) or isinstance(other, dict):
        if not (isinstance(one, dict) or one in _EMPTY) or not (isinstance(other, dict) or other in _EMPTY):
            return False
        before, after = map_at(one), map_at(other)
        if field in _QUANTITIES:
            return all(_is_same_amount(key, before.get(key), after.get(key)) for key in {**before, **after})
        return all(means_the_same(before.get(key), after.get(key), key) for key in {**before, **after})
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(means_the_same, one, other))
    return one == other or (one in _EMPTY and other in _EMPTY)


def _is_same_amount(resource: object, one: object, other: object) -> bool:
    try:
        return amount(str(resource), str(one)) == amount(str(resource), str(other))
    except BadAmountError:
        return one == other


_FREE: Final = ("minAvailable", "priorityClassName", "tasks", "volumes")
_FREE_IN_TASKS: Final = ("replicas", "minAvailable")
_TODO: Final = (
    "job updates may not change fields other than `minAvailable`, `priorityClassName`, `tasks[*].replicas` "
    "and `tasks[*].minAvailable`; make a new job for what is different"
)


def job_update(job: JobCase) -> Iterator[Problem]:
    """An update of a job changes how many pods it has or waits for, or its priority, and nothing else."""
    old, new = at(with_defaults(job.case, job.case.old), "spec"), at(job.case.new, "spec")
    before, after = list_at(old, "tasks"), list_at(new, "tasks")
    yield from _changes("spec", old, new, _FREE)
    if len(before) != len(after):
        counts = f"has {len(after)} tasks and had {len(before)}"
        sentence = f"{counts}: job updates may not add or remove tasks; make a new job"
        yield Problem("spec.tasks", brief(after), sentence)
        return
    for number, (was, becomes) in enumerate(zip(before, after, strict=True)):
        yield from _changes(f"spec.tasks[{number}]", was, becomes, _FREE_IN_TASKS)
    if not means_the_same(_claims(old), _claims(new)):
        yield Problem("spec.volumes", brief(list_at(new, "volumes")), f"changes: {_TODO}")


def _changes(path: str, old: object, new: object, free: tuple[str, ...]) -> Iterator[Problem]:
    before, after = map_at(old), map_at(new)
    for field in {**before, **after}:
        if field not in free and not _is_same(field, before.get(field), after.get(field)):
            value = brief(after.get(field))
            yield Problem(below(path, field), value, f"changes: {_TODO}")


def _is_same(field: object, before: object, after: object) -> bool:
    """A plugin without arguments is another thing than no plugin."""
    is_other = field == "plugins" and map_at(before).keys() != map_at(after).keys()
    return not is_other and means_the_same(before, after)


def _claims(spec: object) -> list[dict[object, object]]:
    """The volumes without the names that the job controller gives the claims it makes."""
    return [
        {
            key: value
            for key, value in map_at(volume).items()
            if key != "volumeClaimName" or not at(volume, "volumeClaim")
        }
        for volume in list_at(spec, "volumes")
    ]
