"""A scheduler configuration as people write it."""

import yaml

from maar.apps.plugins import find_plugins
from maar.core.policy.configuration import BadConfigurationError, Configuration, parse


def parse_text(text: str) -> Configuration:
    """Read a configuration in Volcano's grammar; nothing at all is the default."""
    try:
        return parse(yaml.safe_load(text), find_plugins())
    except yaml.YAMLError as error:
        raise BadConfigurationError([f"not YAML: {' '.join(str(error).split())}"]) from None
