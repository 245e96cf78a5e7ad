"""Admission: a request in, a verdict out; whatever is sent, there is an answer."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from maar.core.admission.case import Case
from maar.core.admission.cluster import KnownCluster
from maar.core.admission.defaults import defaults
from maar.core.admission.patch import patched
from maar.core.admission.request import Json, Options, Request, Verdict
from maar.core.admission.rules import RULES_BY_RESOURCE

_DEFAULT: Final = Options()


def review(request: Request, known: KnownCluster, options: Options = _DEFAULT) -> Verdict:
    """Fill in what was left out, and judge the object with it."""
    patch = mutate(request, known, options)
    judged = validate(_with(request, patch), known, options)
    return Verdict(judged.refusals, judged.warnings, patch)


def mutate(request: Request, known: KnownCluster, options: Options = _DEFAULT) -> tuple[Json, ...]:
    """The JSON patch that fills in what was left out."""
    return defaults(Case(request, known, options))


def mutated(request: Request, known: KnownCluster, options: Options = _DEFAULT) -> object:
    """The new object with what was left out filled in."""
    return _with(request, mutate(request, known, options)).new


def validate(request: Request, known: KnownCluster, options: Options = _DEFAULT) -> Verdict:
    """Judge the object as it was sent."""
    book = RULES_BY_RESOURCE.get(request.resource)
    return Verdict() if book is None else book.judge(Case(request, known, options))


def _with(request: Request, patch: Iterable[Json]) -> Request:
    return replace(request, new=patched(request.new, patch)) if isinstance(request.new, dict) else request
