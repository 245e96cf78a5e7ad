"""`maar run`: run a command on the cluster, and follow it as if it ran here."""

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from maar.cli.cluster.access import Access, on_cluster
from maar.cli.failure import CommandError
from maar.cli.option_groups import with_groups

if TYPE_CHECKING:  # a client takes longer to import than most commands take to run
    from maar.cli.cluster.client import ClusterClient
    from maar.cli.run.job import RunRequest


@with_groups
def run(  # noqa: PLR0913  # each is a flag
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND ...", help="What to run.")],
    *,
    queue: Annotated[str, typer.Option("--queue", "-q", help="The queue to wait in.")] = "default",
    cpus: Annotated[str, typer.Option(help="CPUs for each pod, such as 4 or 500m.")] = "1",
    memory: Annotated[str, typer.Option(help="Memory for each pod, such as 8Gi.")] = "",
    gpus: Annotated[int, typer.Option(min=0, help="GPUs for each pod.")] = 0,
    replicas: Annotated[int, typer.Option(min=1, help="How many pods start together.")] = 1,
    array: Annotated[
        str, typer.Option(help="A pod for each index, such as 0-99 or 1,3,5, in $MAAR_ARRAY_INDEX.")
    ] = "",
    time: Annotated[
        str, typer.Option(metavar="DURATION", help="End each pod after so long, such as 2h or 90m.")
    ] = "",
    priority: Annotated[str, typer.Option(help="The priority class of the job.")] = "",
    after: Annotated[str | None, typer.Option(help="A job that has to be Completed first.")] = None,
    wait_anyway: Annotated[
        bool,
        typer.Option(
            "--wait-anyway",
            help="Keep waiting for a job that is not there yet, or for nodes that do not exist yet.",
        ),
    ] = False,
    image: Annotated[str, typer.Option(help="The image to run in; not with maar up --local.")] = "",
    name: Annotated[str, typer.Option(help="The name of the job; without it one is made up.")] = "",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="The namespace of the job.")] = "",
    env: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, or NAME with its value here; may be repeated.")
    ] = None,
    no_env: Annotated[
        bool, typer.Option("--no-env", help="Send nothing of the environment to this machine as a node.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Submit, and do not wait.")] = False,
    access: Access,
) -> None:
    """Run a command as a job: wait for its turn, show its output, and end with its exit code."""
    from maar.cli.run.job import RunRequest, name_for  # noqa: PLC0415  # see above

    if after == "":  # an empty variable of a script
        raise typer.BadParameter("--after has no name; write the name of a job, or leave it out")
    request = RunRequest(
        name=name or name_for(command, secrets.token_hex(3)),
        namespace=namespace,
        command=command,
        queue=queue,
        resources=_resources(cpus, memory, gpus),
        replicas=replicas,
        array=_array(array, replicas),
        after=after or "",
        seconds=_seconds(time),
        priority=priority,
        variables=_variables(env or []),
    )
    code = on_cluster(
        access,
        lambda cluster: _run(cluster, request, image, no_env=no_env, detach=detach, waits_anyway=wait_anyway),
    )
    raise typer.Exit(code)


async def _run(  # the flags
    cluster: "ClusterClient",
    request: "RunRequest",
    image: str,
    *,
    no_env: bool,
    detach: bool,
    waits_anyway: bool,
) -> int:
    from dataclasses import replace  # noqa: PLC0415  # as all that only this command needs

    from maar.cli.run.following import follow  # noqa: PLC0415
    from maar.cli.run.here import Environment, place_of, travelling  # noqa: PLC0415
    from maar.cli.run.job import job_document  # noqa: PLC0415
    from maar.core.model.job import Job  # noqa: PLC0415

    request = replace(
        request, namespace=request.namespace or cluster.server.credentials.proofs.namespace or "default"
    )
    await _check_priority(cluster, request.priority)
    if not waits_anyway:
        await _check_job_before(cluster, request)
    here = Environment({}, []) if no_env else travelling()
    place = await place_of(cluster, image, here.sent)
    withheld = [name for name in here.withheld if name not in (request.variables or {})]
    if place.folder and withheld:
        typer.echo(
            f"note: {', '.join(withheld)} look{'s' if len(withheld) == 1 else ''} like secrets and"
            " stayed here; --env NAME sends one",
            err=True,
        )
    key = f"{request.namespace}/{request.name}"
    await cluster.create(Job, key, job_document(request, place))
    title = f"job.{Job.api_version.partition('/')[0]}/{request.name}"
    typer.echo(f"{title} created", err=not detach)
    return 0 if detach else await follow(cluster, key, request.number, waits_anyway=waits_anyway)


async def _check_job_before(cluster: "ClusterClient", request: "RunRequest") -> None:
    """Refuse a job that would wait in vain for another: one that is not there, or that has not succeeded."""
    from maar.core.controllers.jobs.dependencies import cannot_follow  # noqa: PLC0415
    from maar.core.model.job import Job  # noqa: PLC0415
    from maar.core.model.kinds import from_document  # noqa: PLC0415

    if not request.after:
        return
    key = f"{request.namespace}/{request.after}"
    if not await cluster.exists(Job, key):
        raise CommandError(
            f"--after {request.after}: there is no such job in namespace {request.namespace};"
            " see maar job list, or add --wait-anyway to wait until it is created"
        )
    before = from_document(Job, await cluster.get(Job, key))
    if why := cannot_follow(before):
        raise CommandError(f"--after {request.after}: {why}; run that job again under another name first")


async def _check_priority(cluster: "ClusterClient", name: str) -> None:
    from maar.core.model.priority_class import PriorityClass  # noqa: PLC0415

    if name and not await cluster.exists(PriorityClass, name):
        names = ", ".join(sorted(await cluster.names(PriorityClass))) or "none"
        raise CommandError(f"--priority {name}: there is no such priority class; the cluster has {names}")


def _seconds(text: str) -> int:
    from maar.core.model.durations import BadDurationError, seconds  # noqa: PLC0415

    if not text:
        return 0
    try:
        limit = seconds(text)
    except BadDurationError as error:
        raise typer.BadParameter(f"--time {error}") from None
    if limit < 1:
        raise typer.BadParameter(f"--time {text}: write at least 1s")
    return int(limit)


def _resources(cpus: str, memory: str, gpus: int) -> dict[str, str]:
    from maar.core.model.resources import CPU, MEMORY, BadAmountError, amount  # noqa: PLC0415
    from maar.embedded.nodes.gpus import GPU  # noqa: PLC0415

    asked = {CPU: cpus, MEMORY: memory, GPU: str(gpus) if gpus else ""}
    amounts = {resource: text for resource, text in asked.items() if text}
    for resource, text in amounts.items():
        try:
            amount(resource, text)
        except BadAmountError as error:
            raise typer.BadParameter(str(error)) from None
    return amounts


def _array(text: str, replicas: int) -> tuple[int, ...]:
    from maar.cli.run.job import BadArrayError, indices  # noqa: PLC0415

    if not text:
        return ()
    if replicas > 1:
        raise typer.BadParameter("--array and --replicas exclude each other: an array has a pod per index")
    try:
        return indices(text)
    except BadArrayError as error:
        raise typer.BadParameter(f"--array {error}") from None


def _variables(given: list[str]) -> dict[str, str]:
    from maar.cli.run.here import variables  # noqa: PLC0415

    try:
        return variables(given)
    except CommandError as error:
        raise typer.BadParameter(str(error)) from None
