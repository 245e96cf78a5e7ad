"""What the scalars of YAML mean: numbers, booleans and null as kubectl reads them, and otherwise text."""

import math
import re
from typing import Final

from yaml import ScalarEvent

from maar.parsing.limits import BadYamlError, Mark

Scalar = str | int | float | bool | None

_PREFIX: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(_PREFIX + name for name in ("null", "bool", "int", "float"))
_TEXT_TAGS: Final = frozenset({f"{_PREFIX}str", "!", f"{_PREFIX}timestamp"})
# kubectl also reads y and n as booleans. Here they are the names that people mean by them, except where the
# question is what kubectl would send.
_ONE_LETTER: Final = {"y": True, "Y": True, "n": False, "N": False}
_NAMED: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NOT_FINITE: Final = frozenset(
    sign + name for sign in ("", "+", "-") for name in (".inf", ".Inf", ".INF")
) | {".nan", ".NaN", ".NAN"}
_MAY_BE_NUMBER: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 8, 2, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER: Final = 400  # characters; longer ones are text, whatever they look like
_LONGEST_SHOWN: Final = 80  # characters of a tag in a message
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # what Kubernetes reads as integers


def scalar(event: ScalarEvent, *, as_kubectl: bool = False) -> Scalar:
    """The value of a scalar; times and numbers in base 60 stay text, as they do in Kubernetes."""
    text: str = event.value
    tag = event.tag
    if as_kubectl and tag is None and event.implicit[0] and text in _ONE_LETTER:
        return _ONE_LETTER[text]
    if tag is None:
        return plain(event) if event.implicit[0] else text
    if tag in _TEXT_TAGS:
        return text
    if tag in _PLAIN_TAGS:
        return plain(event)
    raise unsupported_tag(tag, event.start_mark)


def plain(event: ScalarEvent) -> Scalar:
    """The value of a scalar without quotes."""
    text: str = event.value
    if text in _NAMED:
        return _NAMED[text]
    if text[0] not in _MAY_BE_NUMBER or len(text) > _LONGEST_NUMBER:
        return text
    if text in _NOT_FINITE:
        raise BadYamlError.at(event.start_mark, f"{text} is no number that JSON knows; write a finite one")
    return _number(text)


def unsupported_tag(tag: str, mark: Mark | None) -> BadYamlError:
    """A tag that makes something that JSON does not have."""
    shown = tag.replace(_PREFIX, "!!")[:_LONGEST_SHOWN]
    return BadYamlError.at(mark, f"the tag {shown} is not supported; write a plain value")


def _number(text: str) -> Scalar:
    digits = text.replace("_", "")
    if match := _INTEGER.fullmatch(digits):
        sign, *found = match.groups()
        value = next(int(sign + one, base) for one, base in zip(found, _BASES, strict=True) if one)
        if _LEAST <= value <= _MOST:
            return value
    if _FLOAT.fullmatch(digits) and math.isfinite(number := float(digits)):
        return number
    return text
