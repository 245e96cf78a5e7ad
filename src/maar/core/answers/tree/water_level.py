"""Why a queue gets what it gets of a budget, as a drawing: the siblings side by side, filled to one level.

A column for each sibling, as wide as it weighs; the height is the amount for each of weight, so
that the filled area is what the sibling deserves. What is guaranteed is filled first. Then all are
filled together until the budget is used up: those that are full at their ceiling stay below the
level, those whose guarantee, soft ones included, is more stand above it. A ceiling above the
drawing is cut off.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from maar.core.answers.tree.why import Explanation, Sibling, Step
from maar.core.answers.tree.why_sentences import per_weight, sentence, water, weighs
from maar.core.model.resources import roughly
from maar.core.views.svg import LEFT, RIGHT, WIDTH, Plot, Scale, of_amounts, upwards

_MOST: Final = 12  # columns; those that deserve most, and the queue itself
_LETTER: Final = 6.4
_NARROWEST: Final = 26.0  # of a column
_GAP: Final = 6.0
_ABOVE: Final = Fraction(3, 2)  # of the level, that is shown where ceilings are higher
GUARANTEED, _SOFT, OWN, OTHERS, CEILING = "area f2", "area f3", "area f0", "area f5", "ceiling"


def water_levels(one: Explanation) -> dict[str, str]:
    """A drawing for each resource that an explanation is about: the queue among its siblings."""
    return {
        resource: drawing(steps[-1]).svg(f"-water-{number}")
        for number, (resource, steps) in enumerate(one.steps.items())
        if steps
    }


def drawing(step: Step) -> Plot:
    """The queue among its siblings."""
    shown = _shown(step)
    y = upwards(of_amounts(step.resource, float(_highest(step, shown)), 0, 1))
    description = f"{sentence(step)}. {water(step)[0].upper()}{water(step)[1:]}."
    others = f" among {len(step.siblings)} queues" if step.others else ""
    title = f"{step.resource} of queue {step.chosen.name} below {step.parent}{others}"
    plot = Plot(
        title, description, Scale(LEFT, WIDTH - RIGHT, LEFT, WIDTH - RIGHT), y, "", "for each of weight"
    )
    x = float(LEFT + _GAP)
    for one, width in zip(shown, _widths(shown), strict=True):
        _column(plot, step, one, x, width)
        x += width + _GAP
    plot.entry(OWN, step.chosen.name)
    if len(shown) > 1:
        left_out = len(step.siblings) - len(shown)
        plot.entry(OTHERS, "its siblings" + (f" ({left_out} more are not drawn)" if left_out else ""))
    if any(one.guarantee for one in shown):
        plot.entry(GUARANTEED, "of which guaranteed")
    if any(one.floor > one.guarantee for one in shown):
        plot.entry(_SOFT, "of which softly guaranteed")
    plot.entry(CEILING, "wanted and allowed")
    if step.level is not None:
        _level(plot, step.level, step.resource)
    return plot


def _shown(step: Step) -> Sequence[Sibling]:
    """The siblings that are drawn, in their order."""
    claiming = [one for one in step.siblings if one.ceiling or one.deserved or one == step.chosen]
    if len(claiming) <= _MOST:
        return claiming
    largest = sorted(claiming, key=lambda one: (one != step.chosen, -one.deserved, one.name))[:_MOST]
    return [one for one in claiming if one in largest]


def _highest(step: Step, shown: Sequence[Sibling]) -> Fraction:
    filled = max((one.deserved / one.weighs for one in shown), default=Fraction())
    ceiling = max((one.ceiling / one.weighs for one in shown), default=Fraction())
    return max(
        filled, ceiling if step.level is None else min(ceiling, _ABOVE_LEVEL * max(step.level, filled))
    )


_ABOVE_LEVEL: Final = Fraction(_ABOVE)


def _widths(shown: Sequence[Sibling]) -> list[float]:
    """As wide as they weigh, but so that each can be seen."""
    room = WIDTH - RIGHT - LEFT - _GAP * (len(shown) + 1)
    weights = [float(one.weighs) for one in shown]
    rest = max(0.0, room - _NARROWEST * len(shown))
    return [_NARROWEST + rest * one / sum(weights) for one in weights]


def _column(plot: Plot, step: Step, one: Sibling, x: float, width: float) -> None:
    resource, each = step.resource, float(one.weighs)
    guaranteed = min(one.guarantee, one.deserved)
    text = f"{one.name}, weight {weighs(one)}: deserves {roughly(resource, one.deserved)}"
    plot.block(
        x, width, 0.0, one.ceiling / each, CEILING, f"{text}; at most {roughly(resource, one.ceiling)}"
    )
    look = OWN if one == step.chosen else OTHERS
    entitled = min(one.floor, one.deserved)
    plot.block(x, width, entitled / each, one.deserved / each, look, f"{text}, bound by its {one.binding}")
    if entitled > guaranteed:
        part = f"{text}, {roughly(resource, entitled - guaranteed)} by soft guarantee"
        plot.block(x, width, guaranteed / each, entitled / each, _SOFT, part)
    if guaranteed:
        plot.block(
            x,
            width,
            0.0,
            guaranteed / each,
            GUARANTEED,
            f"{text}, {roughly(resource, guaranteed)} guaranteed",
        )
    letters = max(3, int(width / _LETTER))
    plot.label(x + width / 2, one.name if len(one.name) <= letters else f"{one.name[: letters - 1]}…")


def _level(plot: Plot, level: Fraction, resource: str) -> None:
    ends = np.array([LEFT, WIDTH - RIGHT], np.float64)
    name = f"water level: {per_weight(resource, level)} for each of weight"
    plot.line(ends, np.array([float(level)] * 2), 1, name)
