"""Explanations of shares in words and numbers: the one place that makes sentences of them."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from fractions import Fraction
from math import inf
from typing import Final

from maar.core.answers.tree.past_use import past_use_sentence
from maar.core.answers.tree.why import Explanation, Sibling, Step
from maar.core.model.durations import duration_text
from maar.core.model.plan import Constraint
from maar.core.model.queue import ROOT
from maar.core.model.resources import is_bytes, quantity_text, roughly, units_in_one

Json = dict[str, object]

_FEW: Final = 3  # names in one message
_MUCH: Final = 1_000  # beyond this, fractions are not shown


def summary(one: Explanation) -> str:
    """What the queue deserves and uses, in one sentence."""
    uses = f"it uses {one.used}"
    if one.queue == ROOT:
        return (
            f"queue root deserves {one.deserved}: what ready, schedulable nodes have, less what pods outside "
            f"Maar's queues hold there; {uses}"
        )
    share = "inf" if one.share == inf else f"{one.share:.2f}"
    return f"queue {'/'.join(one.path)} deserves {one.deserved}; {uses}: share {share}"


def protection(one: Explanation) -> str:
    """For how long pods of the queue are protected from which action, and by which queue's field."""
    times = [
        f"{duration_text(timedelta(seconds=least.seconds))} from {action} (spec.{action}MinRuntime of "
        f"{'this queue' if least.queue == one.queue else f'queue {least.queue}'})"
        for action, least in one.min_runtimes.items()
    ]
    return f"its pods are protected for {' and for '.join(times)}" if times else ""


def loan_limit(one: Explanation) -> str:
    """What a guarantee does not cover, where the queue has more now than it deserves; empty elsewhere."""
    last = [steps[-1] for steps in one.steps.values() if steps]
    over = [
        step
        for step in last
        if step.is_leaf and step.chosen.guarantee and one.used[step.resource] > step.chosen.deserved
    ]
    if not over:
        return ""
    guaranteed = ", ".join(f"{step.resource} {_amount(step, step.chosen.guarantee)}" for step in over)
    return (
        "it uses more than it deserves; a pod group that alone is larger than what the queue deserves runs "
        f"on loan and gives way as a whole, which may leave the queue below its guarantee of {guaranteed}"
    )


def sentence(step: Step) -> str:
    """What a queue gets of the budget above it, and why."""
    got, budget = _amount(step, step.chosen.deserved), _amount(step, step.budget)
    binding = step.chosen.binding
    part = f"{step.chosen.name} gets {got} of the {budget} that {step.parent} has"
    return f"{part}, bound by its {binding}: {_REASONS[binding](step)}"


def water(step: Step) -> str:
    """The water level among the siblings."""
    if step.level is None:
        left = step.budget - sum(one.deserved for one in step.siblings)
        return f"nothing runs short under {step.parent}: {_amount(step, left)} is left over"
    if step.is_short:
        return f"the soft guarantees under {step.parent} do not all fit: each holds to the same part of it"
    if not step.level:
        return f"guarantees take all that {step.parent} has"
    level = per_weight(step.resource, step.level)
    return f"the water level under {step.parent} is {level} per weight"


def per_weight(resource: str, level: Fraction) -> str:
    """A water level as people write it, in Kubernetes' units."""
    if is_bytes(resource) or level >= _MUCH * units_in_one(resource):
        return roughly(resource, int(level))
    return f"{float(level / units_in_one(resource)):.4g}"


def _request(step: Step) -> str:
    if not step.chosen.request:
        return "it asks for none"
    return "it gets all it asks for" if step.is_leaf else "it gets all that the queues below it can take"


def _capability(step: Step) -> str:
    return f"{_asks(step)}; its capability is {_amount(step, step.chosen.capability or 0)}"


def _guarantee(step: Step) -> str:
    one, guarantee = step.chosen, _amount(step, step.chosen.guarantee)
    if one.deserved > one.request:
        return f"{_asks(step)}; its guarantee of {guarantee} is held for it all the same"
    if one.capability is not None and one.deserved > one.capability:
        return f"{_asks(step)}; its guarantee of {guarantee} holds, though its capability is less"
    return f"{_asks(step)}; its guarantee of {guarantee} is no less than its fair part: {_weighed(step)}"


def _soft_guarantee(step: Step) -> str:
    one, soft = step.chosen, _amount(step, step.chosen.soft_guarantee)
    named = f"its soft guarantee of {soft}" if one.sets_soft else f"the soft guarantees below it, {soft},"
    verb = "is" if one.sets_soft else "are"
    if one.is_short:
        return (
            f"{_asks(step)}; {named} {verb} met in part, as all under {step.parent} are: they do not all fit"
        )
    return f"{_asks(step)}; {named} {verb} no less than its fair part: {_weighed(step)}"


def _fair_share(step: Step) -> str:
    givers = [other.name for other in step.others if other.deserved > other.floor]
    named = ", ".join(givers[:_FEW]) + (" and others" if len(givers) > _FEW else "")
    change = f"it gets more with more weight, or when {named} {'want' if givers[1:] else 'wants'} less"
    return f"{_asks(step)}; {_weighed(step)}; {change}"


def _parent(step: Step) -> str:
    held = sum(other.deserved for other in step.others)
    claims = (
        "guaranteed, or softly guaranteed,"
        if any(one.soft_guarantee for one in step.others)
        else "guaranteed"
    )
    rest = f"{_amount(step, held)} is {claims} to others" if held else "it has all of it"
    change = "the cluster has more" if step.parent == ROOT else f"{step.parent} does"
    return f"{_asks(step)}; {rest}; it gets more when {change}"


def _asks(step: Step) -> str:
    asked = f"it asks for {_amount(step, step.chosen.request)}"
    return asked if step.is_leaf else f"{asked} for the queues below it"


def _weighed(step: Step) -> str:
    """What the weight alone would give."""
    one, level = step.chosen, step.level or Fraction()
    part = per_weight(step.resource, level * one.weighs)
    return f"weight {weighs(one)} x water level {per_weight(step.resource, level)} gives {part}"


def weighs(one: Sibling) -> str:
    """The weight of a queue, with what past use makes of it: 2 x 0.84."""
    return str(one.weight) if one.factor == 1 else f"{one.weight} x {round(float(one.factor), 2):g}"


def past_use_sentences(one: Explanation) -> list[str]:
    """What past use makes of the weights on the path, a sentence for each queue."""
    weights = {step.chosen.name: step.chosen.weight for steps in one.steps.values() for step in steps}
    return [f"{name}: {past_use_sentence(weights[name], each)}" for name, each in one.past_use.items()]


def _amount(step: Step, units: int) -> str:
    return roughly(step.resource, units)


_REASONS: Final[Mapping[Constraint, Callable[[Step], str]]] = {
    "request": _request,
    "capability": _capability,
    "guarantee": _guarantee,
    "soft guarantee": _soft_guarantee,
    "fair share": _fair_share,
    "parent": _parent,
}


def explanation_data(one: Explanation) -> Json:
    """The explanation as plain data."""
    return {
        "queue": one.queue,
        "path": list(one.path),
        "deserved": one.deserved.quantities(),
        "used": one.used.quantities(),
        "share": "inf" if one.share == inf else one.share,
        "isReduced": one.is_reduced,
        "total": one.total.quantities(),
        **({"minRuntimes": _min_runtime_data(one)} if one.min_runtimes else {}),  # which few queues have
        **({"loans": loans} if (loans := loan_limit(one)) else {}),
        **({"pastUse": past_use_sentences(one)} if one.past_use else {}),
        "resources": {name: [_step_data(step) for step in steps] for name, steps in one.steps.items()},
    }


def _min_runtime_data(one: Explanation) -> Json:
    return {
        action: {"seconds": least.seconds, "queue": least.queue} for action, least in one.min_runtimes.items()
    }


def _step_data(step: Step) -> Json:
    return {
        "parent": step.parent,
        "budget": quantity_text(step.resource, step.budget),
        "queue": step.chosen.name,
        "waterLevel": None if step.level is None else per_weight(step.resource, step.level),
        "because": sentence(step),
        "siblings": [_sibling_data(step.resource, one) for one in step.siblings],
    }


def _sibling_data(resource: str, one: Sibling) -> Json:
    return {
        "name": one.name,
        "weight": one.weight,
        **({"factor": round(float(one.factor), 4)} if one.factor != 1 else {}),
        "guarantee": quantity_text(resource, one.guarantee),
        **({"softGuarantee": quantity_text(resource, one.soft_guarantee)} if one.soft_guarantee else {}),
        "request": quantity_text(resource, one.request),
        "capability": None if one.capability is None else quantity_text(resource, one.capability),
        "ceiling": quantity_text(resource, one.ceiling),
        "deserved": quantity_text(resource, one.deserved),
        "boundBy": one.binding,
    }
