"""Rules for probes, and for what to do when a container starts and stops."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.resource_lists import NOT_NEGATIVE
from maar.embedded.schema.words import forbidden, invalid, judged, required, unsupported

_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SECONDS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds")
_THRESHOLDS: Final = ("successThreshold", "failureThreshold")


def probe(kind: str, found: Fields, field: str) -> Iterator[Cause]:
    """A question that a container is asked again and again."""
    yield from handler(found, field)
    for key in (*_SECONDS, *_THRESHOLDS):
        if found.get(key, 0) < 0:
            yield invalid(f"{field}.{key}", found[key], NOT_NEGATIVE)
    if kind == "readinessProbe":
        if (seconds := found.get("terminationGracePeriodSeconds")) is not None:
            why = "must not be set for readinessProbes"
            yield invalid(f"{field}.terminationGracePeriodSeconds", seconds, why)
    elif found.get("successThreshold", 1) > 1:
        yield invalid(f"{field}.successThreshold", found["successThreshold"], "must be 1")


def handler(found: Fields, field: str) -> Iterator[Cause]:
    """One thing to do."""
    kinds = [kind for kind in _HANDLERS if found.get(kind) is not None]
    if not kinds:
        yield required(field, "must specify a handler type")
    for kind in kinds[1:]:
        yield forbidden(f"{field}.{kind}", "may not specify more than 1 handler type")
    for kind in kinds[:1]:
        doing = found[kind]
        if kind == "exec" and not doing.get("command"):
            yield required(f"{field}.exec.command")
        if "port" in doing or kind in ("httpGet", "tcpSocket"):
            yield from port(doing.get("port", 0), f"{field}.{kind}.port")
        if doing.get("scheme", "HTTP") not in ("HTTP", "HTTPS"):
            yield unsupported(f"{field}.{kind}.scheme", doing["scheme"], ("HTTP", "HTTPS"))


def port(found: int | str, field: str) -> Iterator[Cause]:
    """A port by number or by name."""
    problems = names.port_name(found) if isinstance(found, str) else names.port_number(found)
    yield from judged(field, found, problems)
