"""The refusal of a server as a sentence that says what to do next."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from http import HTTPStatus
from typing import Final, NamedTuple

from maar.cli.failure import CommandError
from maar.core.model.metadata import Object
from maar.core.model.queue import Queue
from maar.kube.errors import ApiError, UnansweredError
from maar.kube.outcome import Conflict, Gone, Outcome, Refused
from maar.kube.paths import resource_path_of

_MOST_SUGGESTIONS: Final = 3
_VERY_CLOSE: Final = 0.85  # of what is alike to this degree, the rest was not meant
_COMMANDS: Final = {"CronJob": "cron", "JobFlow": "flow", "JobTemplate": "flow"}
_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")
_FORBIDDEN: Final = re.compile(r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]*)"')
_DENIED: Final = re.compile(r"^admission [^:]* denied the request: ")


class Operation(NamedTuple):
    """What was asked of the server."""

    verb: str
    kind: type[Object]
    key: str = ""

    @property
    def word(self) -> str:
        """The kind as people say it: pod group."""
        return _WORD.sub(" ", self.kind.kind_name()).lower()

    @property
    def command(self) -> str:
        """The group of commands for the kind."""
        return f"maar {_COMMANDS.get(self.kind.kind_name(), self.word)}"

    @property
    def show(self) -> str:
        """The command that shows the object."""
        return f"{self.command} {'get' if self.kind is Queue else 'view'} {self.plain_name}"

    @property
    def plain_name(self) -> str:
        """The name without its namespace."""
        return self.key.rpartition("/")[2]

    @property
    def name(self) -> str:
        """The object as people say it: queue a."""
        return f"{self.word} {self.key}"


def refusal(outcome: Outcome, operation: Operation, names: Sequence[str] = ()) -> CommandError:
    """Say why it was not done; `names` are those that there are, one of which may have been meant."""
    match outcome:
        case Gone(message=message):
            return CommandError(_gone(message, operation, names))
        case Conflict() if operation.verb == "create":
            verb = ("change", "update") if operation.kind is Queue else ("delete", "delete")
            again = f"{verb[0]} it with {operation.command} {verb[1]} {operation.plain_name}"
            return CommandError(f"{operation.name} exists already; {again}, or choose another name")
        case Conflict():
            changed = f"{operation.name} has just been changed by another client"
            return CommandError(f"{changed}; see {operation.show}, and try again")
        case Refused():
            return CommandError(*_refused(outcome, operation))
        case _:
            return CommandError(str(getattr(outcome, "message", outcome)))


def refusal_of_list(error: ApiError | UnansweredError, kind: type[Object]) -> CommandError:
    """Say why a list could not be read."""
    if isinstance(error, UnansweredError):
        return CommandError(str(error))
    operation = Operation("list", kind)
    if error.code == HTTPStatus.NOT_FOUND:
        return CommandError(_gone(error.message, operation))
    if error.code == HTTPStatus.BAD_REQUEST:
        return CommandError(f"{operation.word}s cannot be listed: {error.message}; write -l team=a,tier!=dev")
    refused = Refused(error.code, error.reason, error.message, error.details.causes)
    return CommandError(*_refused(refused, operation))


def unknown(operation: Operation, names: Sequence[str]) -> str:
    """Say that there is no such object, and which may have been meant."""
    name = operation.plain_name
    close = get_close_matches(name, names, _MOST_SUGGESTIONS, _VERY_CLOSE)
    close = close or get_close_matches(name, names, _MOST_SUGGESTIONS)
    meant = (
        f"did you mean {' or '.join(close)}?" if close else f"{operation.command} list shows those that do"
    )
    return f"{operation.name} does not exist; {meant}"


def _gone(message: str, operation: Operation, names: Sequence[str] = ()) -> str:
    name = operation.plain_name
    if name and f'"{name}" not found' in message:
        return unknown(operation, names)
    if "not found" in message and "namespaces" in message:
        return f"{operation.name}: {message}; create the namespace first"
    plural = resource_path_of(operation.kind).plural
    served = f"its API server does not serve {plural} of {operation.kind.api_version}"
    return f"Maar is not installed on this cluster: {served}; run maar manifests | kubectl apply -f -"


def _refused(outcome: Refused, operation: Operation) -> list[str]:
    message = outcome.message
    if outcome.code == HTTPStatus.UNAUTHORIZED:
        return [
            f"the cluster does not know who you are ({message}); log in again, or choose another --context"
        ]
    if forbidden := _FORBIDDEN.search(message):
        what = f"{forbidden['user']} may not {forbidden['verb']} {forbidden['resource']} on this cluster"
        return [f"{what}; ask its administrator for that right, or choose another --context"]
    if outcome.code == HTTPStatus.UNPROCESSABLE_ENTITY and outcome.causes:
        about = operation.name if operation.key else operation.word
        return [
            f"{about}: {cause.field}: {cause.message}{_advice(cause.message)}" for cause in outcome.causes
        ]
    if denied := _DENIED.match(message):
        return message[denied.end() :].splitlines()  # rules say what to do themselves
    return [message]


def _advice(message: str) -> str:
    """What to do, unless the message says it."""
    return "" if "; " in message else "; correct it and try again"
