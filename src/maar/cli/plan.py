"""`maar plan`: what Maar would do with a cluster in files, and why."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console

from maar.api.manifests import check, read_manifests
from maar.api.plan import Question
from maar.apps.snapshots.files import Snapshot
from maar.apps.snapshots.plan import first_difference
from maar.apps.version import __version__
from maar.cli.queue.flags import ResourceOption, check_resource
from maar.cli.terminal import Terminal, print_lines, width_of
from maar.core.answers.plan.ask import plan_data
from maar.core.answers.plan.text import plan_lines, resources_of
from maar.core.model.plan import Plan
from maar.core.model.queue import ROOT


class Output(StrEnum):
    """How the plan is printed."""

    TABLE = "table"
    WIDE = "wide"
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
    now: Annotated[str, typer.Option(help="The time to decide at, such as 2026-01-31T12:00:00Z.")] = "",
    cycles: Annotated[
        int,
        typer.Option(min=1, max=10_000, help="The number of cycles; each plan is applied before the next."),
    ] = 1,
    resubmit_victims: Annotated[
        bool,
        typer.Option("--resubmit-victims", help="Submit evicted pods again, pending, in the next cycle."),
    ] = False,
    resource: ResourceOption = "",
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print the plan.")] = Output.TABLE,
) -> None:
    """Say what Maar would do with a cluster, and why.

    Reads Kubernetes manifests as people write them or as kubectl get -o yaml prints them, and snapshots, with
    the time and the configuration that are in them.
    """
    manifests = read_manifests(files)
    question = Question.read(manifests, config, now)
    _print_notes([f"warning: {warning}" for warning in question.warnings])
    _print_notes([f"note: {kind} ({count}): not read" for kind, count in manifests.left_out.items()])
    check(manifests)
    decided, seen = question.plans(cycles, resubmit_victims=resubmit_victims), question.seen
    if seen is not None and seen.plan is not None and config is None and not now:
        decided = _compared(decided, seen)
    _print(decided, output, cycles, resource)


def _compared(decided: Iterator[Plan], seen: Snapshot) -> Iterator[Plan]:
    """Say how the first plan compares with the one that the scheduler made itself."""
    for number, plan_of_cycle in enumerate(decided):
        if number == 0 and (difference := first_difference(seen.plan, plan_data(plan_of_cycle))):
            whose = f"the scheduler (Maar {seen.version}) decided otherwise at {seen.time}"
            _print_notes(
                [f"warning: {whose}; its plan is the first, this one (Maar {__version__}) the second:"]
            )
            _print_notes([f"warning: {difference}"])
        elif number == 0:
            _print_notes([f"note: this is the plan that the scheduler made at {seen.time}, byte for byte"])
        yield plan_of_cycle


def _print(decided: Iterator[Plan], output: Output, cycles: int, resource: str) -> None:
    console = Terminal()
    document: dict[str, list[object]] = {"cycles": []}
    for number, plan_of_cycle in enumerate(decided, start=1):
        if number == 1:
            _print_notes(_concerns(plan_of_cycle))
            check_resource(resource, resources_of(plan_of_cycle))
        if output in (Output.TABLE, Output.WIDE):
            if cycles > 1:
                _title(console, f"Cycle {number} of {cycles}")
            wide = output is Output.WIDE
            print_lines(console, plan_lines(plan_of_cycle, width_of(console), resource, wide=wide))
        else:
            document["cycles"].append(plan_data(plan_of_cycle))
    if output is Output.JSON:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
    elif output is Output.YAML:
        typer.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)


def _title(console: Console, text: str) -> None:
    console.rule(text) if console.is_terminal else console.print(f"=== {text} ===")


def _concerns(plan: Plan) -> list[str]:
    """What is wrong with the cluster as a whole: queues with conditions, or nothing to share."""
    concerns = [
        f"warning: queue {name}: {condition.type}: {condition.message}"
        for name, queue in sorted(plan.queues.items())
        for condition in queue.conditions
    ]
    if not any(plan.queues[ROOT].deserved.values()):
        concerns.append(
            "warning: no node can be used: none is ready, schedulable and without taints that no pod of the "
            "queues tolerates; there is nothing to share"
        )
    return concerns


def _print_notes(sentences: list[str]) -> None:
    """Print to standard error, so that standard output has only the plan."""
    for sentence in sentences:
        typer.echo(sentence, err=True)
