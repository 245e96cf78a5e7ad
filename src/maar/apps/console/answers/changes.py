"""The changes that a page asks about or wants made: read within limits, every mistake a sentence."""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Final

import msgspec

from maar.apps.console.replies import RefusedError
from maar.core.answers.whatif.changes import Change, SubmitDocument, field_change, in_order
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.answers.whatif.new_nodes import new_nodes
from maar.parsing.limits import BadYamlError, DocumentLimits
from maar.parsing.yaml_documents import documents
from maar.serving.http import HttpRequest, read_body

LIMITS: Final = DocumentLimits(characters=1 << 20, nodes=100_000)
_LARGEST: Final = 2 << 20  # bytes
_WITHIN_S: Final = 10.0
_MOST: Final = 1_000  # changes of a kind
_MOST_NODES: Final = 2_000
_LONGEST: Final = 2_000  # of one change


class AskedChanges(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A change as a page sends it."""

    set: list[str] = []
    add_nodes: list[str] = []
    drain: list[str] = []
    delete: list[str] = []
    submit: str = ""

    def changes(self, nodes: Collection[str]) -> list[Change]:
        """The changes in the order in which they are made; `nodes` are the names of those there are."""
        made = in_order(
            new_nodes(self.add_nodes, nodes, _MOST_NODES),
            map(field_change, self.set),
            self.drain,
            self.delete,
            _submissions(self.submit),
        )
        if not made:
            raise BadChangeError("there is no change; set a field, add or drain a node, or submit an object")
        return made


async def read_changes(request: HttpRequest) -> AskedChanges:
    """Read the body of a request."""
    body = await read_body(request.receive, _LARGEST, _WITHIN_S)
    try:
        asked = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"the change cannot be read: {error}") from None
    for name, texts in (
        ("set", asked.set),
        ("addNodes", asked.add_nodes),
        ("drain", asked.drain),
        ("delete", asked.delete),
    ):
        if len(texts) > _MOST:
            raise RefusedError(
                HTTPStatus.BAD_REQUEST, f"{name}: {len(texts)} changes; ask about {_MOST} at most"
            )
        if any(len(text) > _LONGEST for text in texts):
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"{name}: a text is longer than {_LONGEST} letters")
    return asked


def _submissions(text: str) -> Iterator[SubmitDocument]:
    try:
        for number, one in enumerate(documents(text, LIMITS), 1):
            items = (
                one.get("items") if isinstance(one, dict) and str(one.get("kind")).endswith("List") else None
            )
            if isinstance(items, list):
                for place, item in enumerate(items, 1):
                    yield SubmitDocument(f"submitted document {number}, item {place}", item)
            elif one is not None:
                yield SubmitDocument(f"submitted document {number}", one)
    except BadYamlError as error:
        raise BadChangeError(f"what is submitted is not YAML: {error}") from None


_DECODER: Final = msgspec.json.Decoder(AskedChanges)
