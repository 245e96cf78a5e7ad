"""`maar plan`: what Maar would do with a cluster in files, and why."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
import yaml
from rich.console import Console

from maar import __version__
from maar.apps.snapshots.configuration import from_recorded
from maar.apps.snapshots.files import Snapshot
from maar.apps.snapshots.plan import first_difference, plans_from
from maar.cli.configuration import read_configuration
from maar.cli.failure import CommandError
from maar.cli.files import Manifests, read_manifests
from maar.cli.lines import print_lines, width_of
from maar.cli.queue.flags import ResourceOption, check_resource
from maar.cli.terminal import Terminal
from maar.core.answers.plan.ask import plan_data, plans
from maar.core.answers.plan.text import plan_lines, resources_of
from maar.core.model.plan import Plan
from maar.core.model.queue import ROOT
from maar.core.policy.configuration import BadConfigurationError, Configuration

_NEEDED: Final = (
    "a cluster is Nodes, Queues, PodGroups and Pods, as "
    "kubectl get nodes,queues,podgroups,pods -A -o yaml prints them"
)


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
    seen = the_snapshot(manifests.snapshots)
    configuration = read_configuration(config) if config or seen is None else configuration_of(seen)
    _print_notes([f"warning: {warning}" for warning in (*configuration.warnings, *manifests.warnings)])
    _print_notes([f"note: {kind} ({count}): not read" for kind, count in manifests.left_out.items()])
    check(manifests)
    time = read_time(now) if now or seen is None else seen.time
    decided = decide_cycles(manifests, seen, configuration, time, cycles, resubmit_victims=resubmit_victims)
    if seen is not None and seen.plan is not None and config is None and not now:
        decided = _compared(decided, seen)
    _print(decided, output, cycles, resource)


def check(manifests: Manifests) -> None:
    """Refuse manifests with errors, and those that have nothing to plan with."""
    if manifests.errors:
        raise CommandError(*manifests.errors)
    if not manifests.objects and not manifests.snapshots:
        found = ", ".join(f"{kind} ({count})" for kind, count in manifests.left_out.items()) or "no object"
        raise CommandError(f"there is nothing to plan with: found {found}; {_NEEDED}")


def decide_cycles(
    manifests: Manifests,
    seen: Snapshot | None,
    configuration: Configuration,
    time: datetime,
    cycles: int,
    *,
    resubmit_victims: bool,
) -> Iterator[Plan]:
    """Decide cycle by cycle, as the scheduler of the snapshot where there is one."""
    objects, resubmit = manifests.objects, resubmit_victims
    if seen is None:
        return plans(objects, configuration, time, cycles, resubmit_victims=resubmit)
    return plans_from(seen, objects, configuration, time, cycles, resubmit_victims=resubmit)


def the_snapshot(snapshots: list[Snapshot]) -> Snapshot | None:
    """The only snapshot, if there is one."""
    if len(snapshots) > 1:
        times = " and ".join(str(one.time) for one in snapshots)
        raise CommandError(f"there are several snapshots, of {times}; plan from one at a time")
    return snapshots[0] if snapshots else None


def configuration_of(seen: Snapshot) -> Configuration:
    """The configuration of the scheduler that a snapshot is of."""
    try:
        return from_recorded(seen.configuration)
    except BadConfigurationError as error:
        problems = [f"the snapshot's configuration: {problem}" for problem in error.problems]
        raise CommandError(*problems, "give another with --config") from None


def _compared(decided: Iterator[Plan], seen: Snapshot) -> Iterator[Plan]:
    """Say how the first plan compares with the one that the scheduler made itself."""
    for number, one in enumerate(decided):
        if number == 0 and (difference := first_difference(seen.plan, plan_data(one))):
            whose = f"the scheduler (Maar {seen.version}) decided otherwise at {seen.time}"
            _print_notes(
                [f"warning: {whose}; its plan is the first, this one (Maar {__version__}) the second:"]
            )
            _print_notes([f"warning: {difference}"])
        elif number == 0:
            _print_notes([f"note: this is the plan that the scheduler made at {seen.time}, byte for byte"])
        yield one


def _print(decided: Iterator[Plan], output: Output, cycles: int, resource: str) -> None:
    console = Terminal()
    document: dict[str, list[object]] = {"cycles": []}
    for number, one in enumerate(decided, start=1):
        if number == 1:
            _print_notes(_concerns(one))
            check_resource(resource, resources_of(one))
        if output in (Output.TABLE, Output.WIDE):
            if cycles > 1:
                _title(console, f"Cycle {number} of {cycles}")
            wide = output is Output.WIDE
            print_lines(console, plan_lines(one, width_of(console), resource, wide=wide))
        else:
            document["cycles"].append(plan_data(one))
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
        for name, one in sorted(plan.queues.items())
        for condition in one.conditions
    ]
    if not any(plan.queues[ROOT].deserved.values()):
        concerns.append(
            "warning: no node can be used: none is ready, schedulable and without taints that no pod of the "
            "queues tolerates; there is nothing to share"
        )
    return concerns


def read_time(text: str) -> datetime:
    """A time as a command was given it; now, where it was given none."""
    if not text:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--now: {text!r} is not a time; write it as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _print_notes(sentences: list[str]) -> None:
    """Print to standard error, so that standard output has only the plan."""
    for sentence in sentences:
        typer.echo(sentence, err=True)
