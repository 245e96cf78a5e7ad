"""What names, keys and values may look like; each check gives what is wrong, nothing where all is right."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_QUALIFIED})?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_PERCENT: Final = "[0-9]+%"

_is_label: Final = re.compile(_LABEL).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_qualified: Final = re.compile(_QUALIFIED).fullmatch
_is_value: Final = re.compile(_VALUE).fullmatch
_is_config_key: Final = re.compile(_CONFIG_KEY).fullmatch
_is_percent: Final = re.compile(_PERCENT).fullmatch
_is_variable: Final = re.compile("[ -<>-~]+").fullmatch  # printable ASCII but for "="

_LABEL_WORDS: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    f" '{_LABEL}')"
)
_SUBDOMAIN_WORDS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    f" '{_SUBDOMAIN}')"
)
_QUALIFIED_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    f" character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_PREFIX_WORDS: Final = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_VALUE_WORDS: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
    f" for validation is '{_VALUE}')"
)
_CONFIG_KEY_WORDS: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
    f" 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)
_PERCENT_WORDS: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex"
    f" used for validation is '{_PERCENT}')"
)
_VARIABLE_WORDS: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_LONGEST_LABEL: Final = 63
_LONGEST_SUBDOMAIN: Final = 253
_LARGEST_PORT: Final = 65535

Check = Callable[[str], Sequence[str]]


def _remembered(check: Check) -> Check:
    """Cache the results of a check: few short texts are checked very often."""
    cached = lru_cache(maxsize=4096)(check)
    return lambda text: cached(text) if len(text) <= _LONGEST_SUBDOMAIN else check(text)


@_remembered
def label(text: str) -> Sequence[str]:
    """A name that is one part of a DNS name."""
    long = len(text) > _LONGEST_LABEL
    if _is_label(text) and not long:
        return ()
    found = [f"must be no more than {_LONGEST_LABEL} characters"] if long else []
    if not _is_label(text):
        found.append("must not contain dots" if _is_subdomain(text) else _LABEL_WORDS)
    return found


def subdomain(text: str) -> Sequence[str]:
    """A name that is a DNS name."""
    long = len(text) > _LONGEST_SUBDOMAIN
    if _is_subdomain(text) and not long:
        return ()
    found = [f"must be no more than {_LONGEST_SUBDOMAIN} characters"] if long else []
    return found if _is_subdomain(text) else [*found, _SUBDOMAIN_WORDS]


def _path_segment(text: str) -> Sequence[str]:
    """A name that can be a part of an address."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{mark}'" for mark in "/%" if mark in text)


@_remembered
def qualified(text: str) -> Sequence[str]:
    """The key of a label: a name, perhaps after a DNS name and a slash."""
    prefix, slash, name = text.rpartition("/")
    if _is_qualified(name) and len(name) <= _LONGEST_LABEL and not slash:
        return ()
    if "/" in prefix:
        return (f"a valid label key {_QUALIFIED_WORDS} {_PREFIX_WORDS}",)
    found = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        if len(prefix) > _LONGEST_SUBDOMAIN:
            found.append(f"prefix part must be no more than {_LONGEST_SUBDOMAIN} bytes")
        if not _is_subdomain(prefix):
            found.append(f"prefix part {_SUBDOMAIN_WORDS}")
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > _LONGEST_LABEL:
        found.append(f"name part must be no more than {_LONGEST_LABEL} bytes")
    if not _is_qualified(name):
        found.append(f"name part {_QUALIFIED_WORDS}")
    return found


@_remembered
def value(text: str) -> Sequence[str]:
    """The value of a label."""
    long = len(text.encode()) > _LONGEST_LABEL
    if _is_value(text) and not long:
        return ()
    found = [f"must be no more than {_LONGEST_LABEL} bytes"] if long else []
    return found if _is_value(text) else [*found, _VALUE_WORDS]


def config_key(text: str) -> Sequence[str]:
    """The key of a config map or a secret, which can be the name of a file."""
    if len(text) > _LONGEST_SUBDOMAIN:
        return (f"must be no more than {_LONGEST_SUBDOMAIN} characters",)
    if not _is_config_key(text):
        return (_CONFIG_KEY_WORDS,)
    if text in (".", ".."):
        return (f"must not be '{text}'",)
    return ("must not start with '..'",) if text.startswith("..") else ()


@_remembered
def variable(text: str) -> Sequence[str]:
    """The name of an environment variable."""
    return () if _is_variable(text) else (_VARIABLE_WORDS,)


def percent(text: str) -> Sequence[str]:
    """A share, such as 25%."""
    return () if _is_percent(text) else (_PERCENT_WORDS,)


def port_number(number: int) -> Sequence[str]:
    """The number of a port."""
    return () if 1 <= number <= _LARGEST_PORT else (f"must be between 1 and {_LARGEST_PORT}, inclusive",)


_OF_KINDS: Final[dict[str, Check]] = {
    "Namespace": label,
    "Service": label,
    "StatefulSet": label,
    "PodDisruptionBudget": _path_segment,
    "Event": _path_segment,
}


def of_object(kind: str, name: str) -> Sequence[str]:
    """The name of an object of a kind, as an API server takes it."""
    return _OF_KINDS.get(kind, subdomain)(name)


def of_prefix(kind: str, prefix: str) -> Sequence[str]:
    """The beginning of a name that an API server completes: judged as if a name had grown from it."""
    grown = prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
    return of_object(kind, grown)
