"""Options that several commands have: a dataclass of them is one parameter of a command."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Final, TypeVar, get_origin, get_type_hints

T = TypeVar("T")

_BY_NAME: Final = inspect.Parameter.KEYWORD_ONLY


def with_groups(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command an option for every annotated field of the dataclasses among its parameters."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        one.name: one.annotation for one in signature.parameters.values() if is_dataclass(one.annotation)
    }
    options: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        if one.name in groups:
            options += _options(groups[one.name])
        else:
            options.append(one.replace(kind=_BY_NAME))

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
        inspect.Parameter(one.name, _BY_NAME, default=one.default, annotation=hints[one.name])
        for one in fields(group)
        if get_origin(hints[one.name]) is Annotated
    ]
