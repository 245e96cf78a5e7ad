"""Reading a scheduler configuration that a command was given."""

from pathlib import Path

from maar.apps.daemons.configuration_text import parse_text
from maar.cli.failure import CommandError, why
from maar.core.policy.configuration import BadConfigurationError, Configuration
from maar.parsing.limits import OBJECT


def read_configuration(file: Path | None) -> Configuration:
    """Read a configuration in Volcano's grammar; without a file, the default."""
    try:
        return parse_text(_text(file) if file is not None else "")
    except OSError as error:
        raise CommandError(f"{file}: cannot be read: {why(error)}; name another file") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file}: this is no text; name a file with a configuration in YAML") from None
    except BadConfigurationError as error:
        raise CommandError(*(f"{file}: {problem}" for problem in error.problems)) from None


def _text(file: Path) -> str:
    with file.open("rb") as opened:
        data = opened.read(4 * (OBJECT.characters + 1))  # no more than it takes to see that it is too much
    return data.decode("utf-8")
