"""Rules for commands: an action that can be carried out, on a target."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from maar.core.admission.case import Case
from maar.core.admission.plain import brief, cut, text_at
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule, Rulebook, about_others
from maar.core.model.job import JOB_ACTIONS
from maar.core.model.kinds import BadObjectError
from maar.core.model.queue import ALWAYS_OPEN

_ORDERS: Final = {"Queue": ("OpenQueue", "CloseQueue"), "Job": JOB_ACTIONS}


@dataclass(frozen=True)
class CommandCase:
    """A command before the rules."""

    case: Case
    action: str
    kind: str
    target: str


def read_command(case: Case) -> CommandCase:
    """A command is an object."""
    if not isinstance(case.new, dict):
        raise BadObjectError("", "it is no object")
    kind, target = (text_at(case.new, "target", field) for field in ("kind", "name"))
    return CommandCase(case, text_at(case.new, "action"), kind, target)


def target(command: CommandCase) -> Iterator[Problem]:
    """A command is for a queue or a job, by name."""
    if command.kind not in _ORDERS:
        sentence = f"is {brief(command.kind)}; a command is for a {' or a '.join(_ORDERS)}"
        yield Problem("target.kind", brief(command.kind), sentence)
    if not command.target:
        yield Problem("target.name", brief(command.target), "is empty; name the object that is meant")


def action(command: CommandCase) -> Iterator[Problem]:
    """A command asks for something that can be done to its target."""
    orders = _ORDERS.get(command.kind, ())
    if orders and command.action not in orders:
        wrong = brief(command.action)
        yield Problem("action", wrong, f"is {wrong}; a {command.kind} can be told {', '.join(orders)}")


def always_open(command: CommandCase) -> Iterator[Problem]:
    """The queues `root` and `default` are never closed."""
    if command.kind == "Queue" and command.action == "CloseQueue" and command.target in ALWAYS_OPEN:
        sentence = (
            "is CloseQueue, and the queues root and default must not be closed; close queues below root"
        )
        yield Problem("action", brief(command.action), sentence)


@about_others
def target_missing(command: CommandCase) -> Iterator[Problem]:
    """A command to something that is not there does nothing."""
    known, namespace = command.case.known, command.case.namespace
    is_queue = command.kind == "Queue" and known.queue(command.target) is not None
    is_job = command.kind == "Job" and known.job(f"{namespace}/{command.target}") is not None
    if not is_queue and not is_job:
        sentence = (
            f"is {brief(command.target)}, and there is no such {cut(command.kind)}: nothing will happen"
        )
        yield Problem("target.name", brief(command.target), sentence)


RULES: Final[Mapping[str, Rule[CommandCase]]] = {
    "command-target": target,
    "command-action": action,
    "queue-always-open": always_open,
}
BOOK: Final = Rulebook(
    noun="command", read=read_command, create=RULES, warnings={"command-target-missing": target_missing}
)
