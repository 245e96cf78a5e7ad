"""Whether a group starts on a cluster that is changed a little, again and again, without reading it anew.

The answer is that of the future (`future.py`): all decisions of the present, until one changes
nothing. But the first of them says it in most cases. Either the group starts with it, or nothing
does: then the next one would be the same. So one engine is kept, is fed what a change makes
different, decides once, and is fed the objects as they were. Only where the first decision changes
something else is a future made of all objects.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple, cast

import msgspec

from maar.core.admission.request import Options
from maar.core.answers.future import Future, Present
from maar.core.answers.pods_to_come import PodsToCome
from maar.core.answers.whatif.changes import Change, ChangedObjects, apply
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.tables import Tables


class Effect(NamedTuple):
    """How a group starts."""

    victims: tuple[str, ...] = ()  # pods that are evicted for it; none: there is room


def effect_now(present: Present, key: str) -> Effect | None:
    """How a group starts with the decisions of the present; None where it does not."""
    future = Future(present)
    for _, plan in future.run(until=future.began):
        effect = _effect(plan, future.simulation.engine.tables, key)
        if effect is not None:
            return effect
    return None


class DecisionTrials:
    """A cluster that is changed, decided on and changed back."""

    def __init__(self, present: Present, key: str) -> None:
        self._present, self._key = present, key

    def effect(self, changes: Sequence[Change] = ()) -> Effect | None:
        """How the group starts with changes; None where it does not, or where a cluster refuses them."""
        changed = self._changed(changes)
        if changed is None:
            return None
        if self._present.configuration.usage is None:
            plan, tables = self._decided(changed.events)
            effect = _effect(plan, tables, self._key)
            if effect is not None or self._is_last(plan, tables):
                return effect
        return effect_now(replace(self._present, objects=changed.objects), self._key)

    def are_allowed(self, changes: Sequence[Change]) -> bool:
        """Whether a cluster would take changes."""
        return self._changed(changes) is not None

    def _changed(self, changes: Sequence[Change]) -> ChangedObjects | None:
        try:
            return apply(self._present.objects, changes, self._options)
        except BadChangeError:
            return None

    @cached_property
    def _options(self) -> Options:
        return Options(scheduler_names=(self._present.scheduler_name,))

    @cached_property
    def _now(self) -> float:
        return Future(replace(self._present, objects=())).began

    @cached_property
    def _engine(self) -> Engine:
        engine = Engine(self._present.configuration, self._present.scheduler_name)
        engine.feed([self._upserted(one) for one in self._known.values()])
        return engine

    @cached_property
    def _known(self) -> dict[tuple[str, str], Object]:
        objects = self._present.objects
        return {(one.kind_name(), one.key): one for one in objects if not isinstance(one, Job)}

    @cached_property
    def _pods_to_come(self) -> frozenset[str]:
        return frozenset(PodsToCome(self._present.objects, self._present.scheduler_name).groups)

    def _decided(self, events: Sequence[Event]) -> tuple[Plan, Tables]:
        """The first decision; the engine is then as it was."""
        engine, back = self._engine, list[Event]()
        for event in events:
            if isinstance(event, Upserted):
                kind, key = event.object.kind_name(), event.object.key
            else:
                kind, key = event.kind, event.key
            if kind == Job.kind_name():
                continue
            engine.feed([self._upserted(event.object) if isinstance(event, Upserted) else event])
            was = self._known.get((kind, key))
            back.append(Deleted(kind=kind, key=key) if was is None else self._upserted(was))
        plan = engine.decide(self._now)
        engine.feed(back)
        return plan, engine.tables

    def _upserted(self, one: Object) -> Event:
        """An object as a simulation takes it in: without a time of creation it comes now."""
        if isinstance(one, PodGroup | Pod) and one.metadata.creation_timestamp is None:
            created = datetime.fromtimestamp(self._now, UTC)
            metadata = msgspec.structs.replace(one.metadata, creation_timestamp=created)
            one = msgspec.structs.replace(one, metadata=metadata)
        return Upserted(object=cast("AnyObject", one))

    def _is_last(self, plan: Plan, tables: Tables) -> bool:
        """Whether another decision would surely be the same; pods that leave or are promised a node move."""
        moves = plan.binds or plan.evictions or plan.selections or plan.nominations or plan.gate_removals
        if moves or tables.leaving:
            return False
        groups = tables.groups
        for key, outcome in plan.pod_groups.items():
            row = groups.get(key)
            if row is None:
                continue
            is_raised = row.standing_minimum < row.min_member
            comes = key in self._pods_to_come and outcome.phase in ADMITTED_PHASES
            if row.stored_phase != outcome.phase or is_raised or comes:
                return False
        return not self._has_nominated

    @cached_property
    def _has_nominated(self) -> bool:
        return any(
            isinstance(one, Pod) and one.status.nominated_node_name and not one.spec.node_name
            for one in self._known.values()
        )


def _effect(plan: Plan, tables: Tables, key: str) -> Effect | None:
    """How a decision lets a group start."""
    if victims := tuple(one.pod for one in plan.evictions if one.beneficiary == key):
        return Effect(victims)
    pods = tables.pods
    is_bound = any(one.pod in pods and pods[one.pod].group_key == key for one in plan.binds)
    return Effect() if is_bound else None
