"""The rules of custom kinds: expressions in CEL, evaluated at every place that has some.

The engine is a library; what Kubernetes adds to the language (quantities, more about lists) is
added here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from cel import Context, Program
from cel import compile as compiled

from maar.core.model.quantity import parse
from maar.embedded.failures import Cause
from maar.embedded.schema.go_types import is_go, is_quantity
from maar.embedded.schema.messages import duplicate, forbidden, invalid, required
from maar.embedded.schema.types import Merge, Rule, Schema

_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_FAILURES: Final = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)  # of an expression
_SEEN_OF_METADATA: Final = ("name", "generateName")


def broken(schema: Schema, value: object, old: object = None) -> list[Cause]:
    """The rules that a value breaks; those that compare with what was there before need an old value."""
    return list(_broken(schema, value, old, "")) if has_rules(schema) else []


@cache
def has_rules(schema: Schema) -> bool:
    """Whether there is a rule anywhere in a schema."""
    if is_go(schema):
        return False
    below = [
        inner for inner in (*schema.properties.values(), schema.items, schema.values) if inner is not None
    ]
    return bool(schema.rules) or any(has_rules(inner) for inner in below)


def _broken(schema: Schema, value: object, old: object, path: str) -> Iterator[Cause]:
    if value is None or (old is not None and value == old):
        return  # what was accepted once and has not changed is not tried again
    if schema.rules:
        yield from _tried(schema, value, old, path)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for name, below in value.items():
            if (field := schema.properties.get(name)) is not None and has_rules(field):
                yield from _broken(field, below, before.get(name), f"{path}.{name}" if path else name)
            elif schema.values is not None and has_rules(schema.values):
                yield from _broken(schema.values, below, before.get(name), f"{path}[{name}]")
    elif isinstance(value, list) and schema.items is not None and has_rules(schema.items):
        for position, below in enumerate(value):
            yield from _broken(schema.items, below, _counterpart(schema, below, old), f"{path}[{position}]")


def _tried(schema: Schema, value: object, old: object, path: str) -> Iterator[Cause]:
    """Try the rules of one place; the value is handed over to the engine once for all of them."""
    programs, names = _programs(schema)
    variables = {"self": _seen(schema, value, names)}
    if old is not None:
        variables["oldSelf"] = _seen(schema, old, names)
        if variables["oldSelf"] == variables["self"]:
            return
    context = Context(variables=variables, functions=_FUNCTIONS)
    for rule, program in zip(schema.rules, programs, strict=True):
        if old is None and "oldSelf" in program.variables():
            continue
        field = f"{path}{rule.field_path}" if path else rule.field_path.removeprefix(".")
        try:
            if program.execute(context) is not True:
                yield _cause(_with_message(rule, context), value, field)
        except _FAILURES as error:
            expression = rule.message.removeprefix("failed rule: ")
            yield invalid(path, _type_name(value), f"{error} evaluating rule: {expression}")


def _with_message(rule: Rule, context: Context) -> Rule:
    """The rule with what its expression says of this value, in place of what it says of all."""
    if not rule.message_expression:
        return rule
    try:
        message = compiled(rule.message_expression).execute(context)
    except _FAILURES:
        return rule
    return replace(rule, message=message) if isinstance(message, str) and message.strip() else rule


@cache
def _programs(schema: Schema) -> tuple[tuple[Program, ...], frozenset[str]]:
    """The rules of one place, compiled, and all names in them."""
    expressions = [rule.expression for rule in schema.rules]
    messages = [rule.message_expression for rule in schema.rules]
    names = frozenset(name for one in (*expressions, *messages) for name in _NAME.findall(one))
    return tuple(compiled(expression) for expression in expressions), names


def _cause(rule: Rule, value: object, field: str) -> Cause:
    if rule.reason == "FieldValueForbidden":
        return forbidden(field, rule.message)
    if rule.reason == "FieldValueRequired":
        return required(field, rule.message)
    if rule.reason == "FieldValueDuplicate":
        return duplicate(field, value)
    if isinstance(value, dict | list):  # too long to be shown
        return Cause(field, "FieldValueInvalid", f"Invalid value: {rule.message}")
    return invalid(field, value, rule.message)


def _counterpart(schema: Schema, value: object, old: object) -> object:
    """What an entry of a list was before, where its keys tell."""
    if schema.merge is not Merge.MAP or not isinstance(old, list) or not isinstance(value, dict):
        return None
    keys = [value.get(key) for key in schema.keys]
    matching = (
        item for item in old if isinstance(item, dict) and [item.get(key) for key in schema.keys] == keys
    )
    return next(matching, None)


def _seen(schema: Schema, value: object, names: frozenset[str]) -> object:
    """A value as rules see it: of metadata the name, nothing without a schema, numbers of their type.

    To hand a value over costs more than to try a rule. So of the fields of an object only those are handed
    over that the rules name, unless they name none of them and mean the object as such.
    """
    if isinstance(value, dict):
        if is_go(schema):
            return {name: value[name] for name in _SEEN_OF_METADATA if name in value}
        named = schema.properties.keys() & names
        seen = {}
        for name, below in value.items():
            field = schema.properties.get(name, schema.values)
            if field is not None and (not named or name in named):
                seen[name] = _seen(field, below, names)
        return seen
    if isinstance(value, list):
        return [_seen(schema.items, below, names) for below in value] if schema.items else []
    if schema.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema.type == "integer" and isinstance(value, float):
        return int(value)
    return value


def _type_name(value: object) -> str:
    names: dict[type[object], str] = {dict: "object", list: "array", str: "string", bool: "boolean"}
    return names.get(type(value), "number")


def _index_of(texts: Sequence[object], wanted: object) -> int:
    return next((position for position, text in enumerate(texts) if text == wanted), -1)


def _last_index_of(texts: Sequence[object], wanted: object) -> int:
    return next((place for place in range(len(texts) - 1, -1, -1) if texts[place] == wanted), -1)


def _compare(text: str, other: str) -> int:
    left, right = parse(text).nanos, parse(other).nanos
    return (left > right) - (left < right)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isQuantity": is_quantity,
    "quantity": lambda text: text,  # a quantity is carried as its text
    "compareTo": _compare,
    "isLessThan": lambda one, other: _compare(one, other) < 0,
    "isGreaterThan": lambda one, other: _compare(one, other) > 0,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "sum": sum,
}
