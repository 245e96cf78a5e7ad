"""Reading a scheduler configuration that a command was given."""

from pathlib import Path

import yaml

from maar.apps.plugins import find_plugins
from maar.cli.failure import CommandError
from maar.core.policy.configuration import BadConfigurationError, Configuration, parse


def read_configuration(file: Path | None) -> Configuration:
    """Read a configuration in Volcano's grammar; without a file, the default."""
    try:
        text = file.read_text(encoding="utf-8") if file is not None else ""
        return parse(yaml.safe_load(text), find_plugins())
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise CommandError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    except BadConfigurationError as error:
        raise CommandError(*(f"{file}: {problem}" for problem in error.problems)) from None
