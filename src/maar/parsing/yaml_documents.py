"""YAML read within limits, as JSON has it: mappings by text, lists, text, numbers, booleans and null.

PyYAML's loaders recurse for every level: 100 kB of `[` overflow the stack of the one in C, which
ends the process. They write out what merge keys stand for without counting: 700 bytes of aliases of
aliases take all memory. LibYAML's parser does neither: it gives one event after the other and keeps
a stack of its own. Its time for a token grows with the depth of brackets, but what is too deep is
refused by the event that goes there. So only its events are used. Each is looked at once: time and
memory are linear in the limits.
"""

from collections.abc import Iterator
from typing import Final

import yaml

from maar.parsing.limits import FILES, BadYamlError, DocumentLimits
from maar.parsing.yaml_composer import Composer, Repeated

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C reads ten times faster
_MOST_DIRECTIVES: Final = 20  # the parser takes long for them


def documents(
    text: str | bytes,
    limits: DocumentLimits = FILES,
    repeated: Repeated | None = None,
    *,
    as_kubectl: bool = False,
) -> Iterator[object]:
    """Give the documents of a text one by one; an empty one is None.

    A key that a mapping has twice is refused, or passed to `repeated`, and then the last one counts. With
    `as_kubectl` y and n without quotes are booleans.
    """
    if isinstance(text, bytes):
        text = _decoded(text)
    _check_size(text, limits)
    composer = Composer(limits, repeated, as_kubectl=as_kubectl)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            composer.take(event)
            if isinstance(event, yaml.DocumentEndEvent):
                yield composer.root
    except yaml.MarkedYAMLError as error:
        message = ", ".join(filter(None, (error.problem, error.context)))
        raise BadYamlError.at(error.problem_mark or error.context_mark, message) from None
    except yaml.YAMLError as error:
        raise BadYamlError(" ".join(str(error).split())) from None
    except UnicodeEncodeError as error:
        raise BadYamlError(f"not Unicode: {error.reason}; save it as UTF-8") from None


def document(text: str | bytes, limits: DocumentLimits = FILES, repeated: Repeated | None = None) -> object:
    """Read the one document of a text; None where there is none."""
    found = documents(text, limits, repeated)
    first = next(found, None)
    for _ in found:
        raise BadYamlError("several documents where one is expected: remove the others, or the line ---")
    return first


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadYamlError(f"byte {error.start} is not UTF-8 ({error.reason}); save it as UTF-8") from None


def _check_size(text: str, limits: DocumentLimits) -> None:
    if len(text) > limits.characters:
        raise BadYamlError(f"{len(text)} characters, the limit is {limits.characters}; split it")
    if text.count("\n%") > _MOST_DIRECTIVES:
        raise BadYamlError(f"more than {_MOST_DIRECTIVES} lines begin with %; remove these directives")
