"""Events of a YAML parser put together to documents, counting what they cost.

A loop with a stack of its own, so that no depth overflows the interpreter's. Nodes and characters
are running totals: what a list or mapping costs is the difference between its end and its
beginning. Every use of an alias adds the cost of what it stands for to the totals, and its height
to the depth, before it is copied. It is a copy so that a change of one part of a document does not
change another.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from yaml import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from maar.parsing.limits import BadYamlError, DocumentLimits, Mark
from maar.parsing.yaml_scalars import Scalar, scalar, unsupported_tag

Repeated = Callable[[str], None]  # called for keys that a mapping has twice

_COLLECTIONS: Final = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_MERGE: Final = "<<"
_MERGE_KEY: Final = "a merge key"  # distinguished from equal text by identity
_IDENTITY: Final = ("apiVersion", "kind")
_LONGEST_SHOWN: Final = 80  # characters of a key in a message


class _Frame:
    """A list or mapping whose end has not come yet, and the totals when it began."""

    __slots__ = ("anchor", "characters", "deepest", "key", "lines", "merged", "nodes", "value")

    def __init__(
        self, value: dict[str, object] | list[object], anchor: str | None, nodes: int, characters: int
    ) -> None:
        self.value, self.anchor, self.nodes, self.characters = value, anchor, nodes, characters
        self.deepest = 0  # the deepest level that anything in it has reached
        self.key: str | None = None  # whose value comes next
        self.lines: dict[str, int] = {}  # where each key stands
        self.merged: list[object] = []  # values of merge keys


class _Anchored(NamedTuple):
    """A value that aliases stand for, and what each of them costs."""

    value: object
    nodes: int
    characters: int
    height: int


class Composer:
    """Puts events together to documents."""

    def __init__(
        self, limits: DocumentLimits, repeated: Repeated | None, *, as_kubectl: bool = False
    ) -> None:
        self.root: object = None
        self._limits, self._repeated, self._as_kubectl = limits, repeated, as_kubectl
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = self._characters = self._aliased = 0

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._begin(event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._end(event)
        elif isinstance(event, AliasEvent):
            self._take_alias(event)
        elif isinstance(event, DocumentStartEvent):
            self.root = None
            self._anchors.clear()

    def _take_scalar(self, event: ScalarEvent) -> None:
        self._count(1, len(event.value), event.start_mark)
        frame = self._frames[-1] if self._frames else None
        value = scalar(event, as_kubectl=self._as_kubectl)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1, len(event.value), 0)
        if frame is not None and frame.key is None and isinstance(frame.value, dict):
            is_merge = event.value == _MERGE and event.implicit[0]
            frame.key = _MERGE_KEY if is_merge else self._key(frame, value, event.start_mark)
        else:
            self._put(value, event.start_mark)

    def _begin(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        self._count(1, 0, event.start_mark)
        if event.tag not in _COLLECTIONS:
            raise unsupported_tag(event.tag, event.start_mark)
        self._expect_value(event.start_mark)
        value: dict[str, object] | list[object] = {} if isinstance(event, MappingStartEvent) else []
        self._frames.append(_Frame(value, event.anchor, self._nodes - 1, self._characters))
        self._descend(0, event.start_mark)

    def _end(self, event: MappingEndEvent | SequenceEndEvent) -> None:
        frame = self._frames.pop()
        if isinstance(frame.value, dict):
            for one in frame.merged:
                _merge(frame.value, one)
        if self._frames:
            self._frames[-1].deepest = max(self._frames[-1].deepest, frame.deepest)
        if frame.anchor is not None:
            nodes, characters = self._nodes - frame.nodes, self._characters - frame.characters
            height = frame.deepest - len(self._frames)
            self._anchors[frame.anchor] = _Anchored(frame.value, nodes, characters, height)
        self._put(frame.value, event.start_mark)

    def _take_alias(self, event: AliasEvent) -> None:
        anchor = event.anchor or ""
        found = self._anchors.get(anchor)
        if found is None:
            name = anchor[:_LONGEST_SHOWN]
            message = f"the alias *{name} stands for nothing before it, or for what it is a part of"
            raise BadYamlError.at(event.start_mark, f"{message}; write &{name} at a value above")
        self._count(found.nodes, found.characters, event.start_mark)
        self._aliased += found.nodes
        if self._aliased > self._limits.aliased:
            message = f"aliases stand for more than {self._limits.aliased} values; use fewer"
            raise BadYamlError.at(event.start_mark, message)
        self._expect_value(event.start_mark)
        self._descend(found.height, event.start_mark)
        self._put(_copied(found.value), event.start_mark)

    def _expect_value(self, mark: Mark | None) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.key is None and isinstance(frame.value, dict):
            raise BadYamlError.at(mark, "a key must be text; quote it, or remove the { or [ that begins it")

    def _put(self, value: object, mark: Mark | None) -> None:
        """Put a whole value where it belongs."""
        if not self._frames:
            self.root = value
            return
        frame = self._frames[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _MERGE_KEY:
            maps = value if isinstance(value, list) else [value]
            if not all(isinstance(one, dict) for one in maps):
                raise BadYamlError.at(mark, "the value of << must be a mapping, or a list of mappings")
            frame.merged.extend(maps)
            frame.key = None
        elif frame.key is not None:
            frame.value[frame.key] = value
            frame.key = None

    def _key(self, frame: _Frame, value: Scalar, mark: Mark | None) -> str:
        """A key as text; it must be the only one of its name."""
        if value is None:
            raise BadYamlError.at(
                mark, 'a key is missing before the colon; write one, or "" for an empty one'
            )
        key = value if isinstance(value, str) else str(value).lower()  # as JSON writes true and 1e+22
        line = 0 if mark is None else mark.line + 1
        if key in frame.lines:
            message = (
                f'the key "{key[:_LONGEST_SHOWN]}" is in this mapping already, in line {frame.lines[key]}'
            )
            hint = "remove one of them"
            if key in _IDENTITY and len(self._frames) == 1:
                hint = f"if a second object begins here, put a line with --- before line {line}"
            self._report_repeated(f"{message}; {hint}", mark)
        frame.lines[key] = line
        return key

    def _report_repeated(self, message: str, mark: Mark | None) -> None:
        error = BadYamlError.at(mark, message)
        if self._repeated is None:
            raise error
        self._repeated(str(error))

    def _descend(self, height: int, mark: Mark | None) -> None:
        """Note that something at the current level reaches `height` levels deeper."""
        depth = len(self._frames) + height
        if depth > self._limits.depth:
            raise BadYamlError.at(mark, f"nested more than {self._limits.depth} levels deep; make it flatter")
        if self._frames:
            self._frames[-1].deepest = max(self._frames[-1].deepest, depth)

    def _count(self, nodes: int, characters: int, mark: Mark | None) -> None:
        self._nodes += nodes
        self._characters += characters
        if self._nodes > self._limits.nodes:
            raise BadYamlError.at(
                mark, f"more than {self._limits.nodes} values, aliases written out; split it"
            )
        if self._characters > self._limits.characters:
            raise BadYamlError.at(
                mark, f"more than {self._limits.characters} characters, aliases written out; split it"
            )


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return value


def _merge(value: dict[str, object], merged: object) -> None:
    """Add what a merge key gives and the mapping does not have itself."""
    for key, one in merged.items() if isinstance(merged, dict) else ():
        value.setdefault(key, one)
