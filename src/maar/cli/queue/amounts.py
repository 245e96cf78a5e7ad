"""Amounts on the command line, such as cpu=4,memory=8Gi, and what they mean for the spec of a queue."""

from collections.abc import Mapping

import typer

from maar.core.model.resources import BadAmountError, Percentages, Resources

Json = dict[str, object]
WrittenAmounts = Mapping[str, str | None]  # as written; None where one is taken away


def amounts(text: str) -> WrittenAmounts:
    """Read amounts: cpu=4,memory=8Gi."""
    return _checked(_pairs(text))


def changed_amounts(text: str) -> WrittenAmounts:
    """Read amounts to change: cpu=4 sets one, cpu- takes it away."""
    return _checked(_pairs(text, may_remove=True))


def parts(text: str) -> WrittenAmounts:
    """Read amounts and parts of the cluster's total: cpu=4,memory=20%."""
    return _checked(_pairs(text), may_be_parts=True)


def changed_parts(text: str) -> WrittenAmounts:
    """Read amounts and parts of the total to change: cpu=20% sets one, cpu- takes it away."""
    return _checked(_pairs(text, may_remove=True), may_be_parts=True)


def guarantee(asked: WrittenAmounts) -> Json:
    """A guarantee: of a resource either an amount or a part of the total, not both."""
    resource: dict[str, str | None] = {}
    percentage: dict[str, str | None] = {}
    for name, text in asked.items():
        is_part = text is not None and text.endswith("%")
        resource[name] = None if is_part else text
        percentage[name] = text.removesuffix("%") if is_part and text is not None else None
    return {"resource": resource, "percentage": percentage}


def _pairs(text: str, *, may_remove: bool = False) -> WrittenAmounts:
    pairs: dict[str, str | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and may_remove and name.endswith("-"):
            name, value = name.removesuffix("-"), ""
        elif not equals or not value:
            removal = ", or cpu- to take one away" if may_remove else ""
            raise typer.BadParameter(f"{part!r} is no amount; write cpu=4,memory=8Gi{removal}")
        if not name or name in pairs:
            problem = "is there twice" if name else "has no resource before it"
            raise typer.BadParameter(f"{part!r} {problem}; write cpu=4,memory=8Gi")
        pairs[name] = value or None
    if not pairs:
        raise typer.BadParameter("no amount is given; write cpu=4,memory=8Gi")
    return pairs


def _checked(pairs: WrittenAmounts, *, may_be_parts: bool = False) -> WrittenAmounts:
    """Refuse what no server would take, before it is asked."""
    given = {name: text for name, text in pairs.items() if text is not None}
    percentages = {name: text.removesuffix("%") for name, text in given.items() if text.endswith("%")}
    if percentages and not may_be_parts:
        name = next(iter(percentages))
        raise typer.BadParameter(
            f"{name}={given[name]}: only a guarantee can be a part of the total; write an amount"
        )
    try:
        Percentages.parse(percentages)
        Resources.parse({name: text for name, text in given.items() if name not in percentages})
    except BadAmountError as error:
        raise typer.BadParameter(str(error)) from None
    return pairs
