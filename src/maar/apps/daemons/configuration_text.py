"""A scheduler configuration as people write it."""

from maar.apps.plugins import find_plugins
from maar.core.policy.configuration import BadConfigurationError, Configuration, parse
from maar.parsing.limits import OBJECT, BadYamlError
from maar.parsing.yaml_documents import document


def parse_text(text: str) -> Configuration:
    """Read a configuration in Volcano's grammar; nothing at all is the default."""
    try:
        return parse(document(text, OBJECT), find_plugins())
    except BadYamlError as error:
        raise BadConfigurationError([f"not YAML: {error}"]) from None
