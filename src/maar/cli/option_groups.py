"""Options that several commands have: a dataclass of them is one parameter of a command."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Final, TypeVar, get_origin, get_type_hints

T = TypeVar("T")

_BY_NAME: Final = inspect.Parameter.KEYWORD_ONLY


def with_groups(command: Callable[..., T], **chosen: type) -> Callable[..., T]:
    """Give a command an option for every annotated field of the dataclasses among its parameters.

    `chosen` are dataclasses that take the place of those that the command has in its signature.
    """
    signature = inspect.signature(command, eval_str=True)
    annotations = {name: each.annotation for name, each in signature.parameters.items()} | chosen
    groups: dict[str, Any] = {name: group for name, group in annotations.items() if is_dataclass(group)}
    options: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            options += _options(groups[name])
        else:
            options.append(parameter.replace(kind=_BY_NAME))

    @wraps(command)
    def run(**given: object) -> T:
        built = {
            name: group(**{option.name: given.pop(option.name) for option in _options(group)})
            for name, group in groups.items()
        }
        return command(**given, **built)

    run.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]  # typer reads it
    return run


def _options(group: type) -> list[inspect.Parameter]:
    """The annotated fields; others are no options."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(each.name, _BY_NAME, default=each.default, annotation=hints[each.name])
        for each in fields(group)
        if get_origin(hints[each.name]) is Annotated
    ]
