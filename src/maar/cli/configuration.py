"""Reading a scheduler configuration that a command was given."""

from pathlib import Path

from maar.apps.daemons.configuration_text import parse_text
from maar.cli.failure import CommandError
from maar.core.policy.configuration import BadConfigurationError, Configuration


def read_configuration(file: Path | None) -> Configuration:
    """Read a configuration in Volcano's grammar; without a file, the default."""
    try:
        return parse_text(file.read_text(encoding="utf-8") if file is not None else "")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: cannot be read: {error}") from None
    except BadConfigurationError as error:
        raise CommandError(*(f"{file}: {problem}" for problem in error.problems)) from None
