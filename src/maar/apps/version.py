"""The version of Maar that is installed: what is written down names it."""

from importlib.metadata import version
from typing import Final

__version__: Final = version("maar")
