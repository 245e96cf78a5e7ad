"""`maar plan`: what Maar would do with a cluster in files, and why."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from maar.cli.configuration import read_configuration
from maar.cli.failure import CommandError
from maar.cli.files import read_manifests
from maar.cli.plan_text import print_plan
from maar.core.model.plan import Plan
from maar.core.model.queue import ROOT
from maar.core.views.planning import plans, shown


class Output(StrEnum):
    """How the plan is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def plan(
    files: Annotated[
        list[Path],
        typer.Option("--filename", "-f", help="A file or folder of manifests; - is standard input."),
    ],
    config: Annotated[
        Path | None, typer.Option(help="A scheduler configuration, in Volcano's grammar.")
    ] = None,
    now: Annotated[str, typer.Option(help="The time of the snapshot, such as 2026-01-31T12:00:00Z.")] = "",
    cycles: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many cycles, each applied before the next.")
    ] = 1,
    resubmit_victims: Annotated[
        bool, typer.Option("--resubmit-victims", help="Victims come back pending.")
    ] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print the plan.")] = Output.TABLE,
) -> None:
    """Say what Maar would do with a cluster, and why.

    Reads Kubernetes manifests as people write them or as kubectl get -o yaml prints them.
    """
    configuration = read_configuration(config)
    manifests = read_manifests(files)
    _say([f"warning: {warning}" for warning in (*configuration.warnings, *manifests.warnings)])
    _say([f"note: {kind} ({count}): not read" for kind, count in manifests.left_out.items()])
    if manifests.errors:
        raise CommandError(*manifests.errors)
    decided = plans(manifests.objects, configuration, _time(now), cycles, resubmit_victims=resubmit_victims)
    _print(decided, output, cycles)


def _print(decided: Iterator[Plan], output: Output, cycles: int) -> None:
    document: dict[str, list[object]] = {"cycles": []}
    for number, one in enumerate(decided, start=1):
        if number == 1:
            _say(_concerns(one))
        if output is Output.TABLE:
            print_plan(one, f"Cycle {number} of {cycles}" if cycles > 1 else "")
        else:
            document["cycles"].append(shown(one))
    if output is Output.JSON:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
    elif output is Output.YAML:
        typer.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)


def _concerns(plan: Plan) -> list[str]:
    """What is wrong with the cluster as a whole: queues with conditions, or nothing to share."""
    concerns = [
        f"warning: queue {name}: {condition.type}: {condition.message}"
        for name, one in sorted(plan.queues.items())
        for condition in one.conditions
    ]
    if not any(plan.queues[ROOT].deserved.values()):
        concerns.append("warning: no ready, schedulable node: there is nothing to share")
    return concerns


def _time(text: str) -> datetime:
    if not text:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--now: {text!r} is not a time; write it as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _say(sentences: list[str]) -> None:
    """Speak on standard error, so that standard output stays the plan."""
    for sentence in sentences:
        typer.echo(sentence, err=True)
