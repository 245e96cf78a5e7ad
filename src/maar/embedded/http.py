"""Requests as Kubernetes' clients send them: how a write is asked for, and bodies in all their forms."""

from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, cast

import msgspec

from maar.core.model.whole_numbers import whole_number
from maar.embedded.calls import Call, Caller, Strictness
from maar.embedded.failures import ApiError, Json, bad_request, too_large
from maar.embedded.wire.decode import MEDIA_TYPE, decode
from maar.parsing.limits import DEEPEST, OBJECT, BadYamlError
from maar.parsing.plain_values import excess, may_exceed
from maar.parsing.yaml_composer import Repeated
from maar.parsing.yaml_documents import document
from maar.serving.http import BodyError, HttpRequest, read_body

LARGEST_BODY: Final = 3 << 20
_BODY_WITHIN: Final = 30.0  # seconds
_YAML_TYPES: Final = ("application/yaml", "application/apply-patch+yaml")
_STRICTNESS: Final = ("", "Ignore", "Warn", "Strict")
_UNKNOWN: Final = Caller("")


@dataclass
class ApiRequest(HttpRequest):
    """One request to the API server, read as far as its head; who asks is found out later."""

    caller: Caller = _UNKNOWN
    warnings: list[str] = field(default_factory=list)

    @property
    def content_type(self) -> str:
        """The media type of the body without its parameters."""
        return self.header(b"content-type").partition(";")[0].strip().lower()

    def accepts(self, parameter: str) -> bool:
        """Whether the client takes a special form of the answer."""
        return parameter in self.header(b"accept").replace(" ", "")

    def flag(self, name: str) -> bool:
        """A query parameter that is true or not."""
        return self.query.get(name, "").lower() in ("true", "1")

    def number(self, name: str) -> int | None:
        """A query parameter that is a whole number, None where it is missing."""
        if not (found := self.query.get(name, "")):
            return None
        if (number := whole_number(found)) is None:
            raise bad_request(f'the query parameter {name}="{found[:80]}" must be a whole number')
        return number

    def call(self) -> Call:
        """How a write is asked for."""
        strictness = self.query.get("fieldValidation", "")
        if strictness not in _STRICTNESS:
            raise bad_request(f'invalid fieldValidation "{strictness}": must be Ignore, Warn or Strict')
        if self.query.get("dryRun", "All") != "All":
            raise bad_request(f'invalid dryRun "{self.query["dryRun"]}": must be All')
        agent = self.header(b"user-agent").partition("/")[0]
        return Call(
            caller=self.caller,
            manager=self.query.get("fieldManager") or agent or "unknown",
            dry_run="dryRun" in self.query,
            strictness=cast(Strictness, strictness or "Warn"),
            force=self.flag("force"),
            warnings=self.warnings,
        )

    async def body(self) -> bytes:
        """The whole body, within a limit of size and time."""
        try:
            return await read_body(self.receive, LARGEST_BODY, _BODY_WITHIN)
        except BodyError as error:
            raise _body_refused(error.status) from None

    async def value(self) -> object:
        """The body as plain values, from JSON, YAML or Kubernetes' binary form."""
        return self.read(await self.body())

    def read(self, data: bytes) -> object:
        """A body as plain values."""
        media_type = self.content_type
        if media_type == MEDIA_TYPE:
            return decode(data)
        if media_type in _YAML_TYPES:
            return self.from_yaml(data)
        if media_type and media_type != "application/json" and not media_type.endswith("+json"):
            raise ApiError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                f"the body of the request was in an unknown format - accepted media types include:"
                f" application/json, application/yaml (not {media_type})",
            )
        return from_json(data)

    def from_yaml(self, data: bytes) -> object:
        """A body as plain values; a key that is there twice is refused, a warning or nothing, as asked."""
        strictness = self.query.get("fieldValidation") or "Warn"
        if strictness == "Strict":
            return from_yaml(data, None)
        return from_yaml(data, self.warnings.append if strictness == "Warn" else lambda _: None)

    async def object(self) -> Json:
        """The body as one object."""
        return as_object(await self.value())


def as_object(value: object) -> Json:
    """Make sure that a value is an object."""
    if not isinstance(value, dict):
        raise bad_request(f"the body must be one object of Kubernetes, not {type(value).__name__}")
    return cast(Json, value)


def from_json(data: bytes) -> object:
    """Read JSON that a client sent."""
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        raise bad_request(f"the body is nested more than {DEEPEST} levels deep; make it flatter") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is not JSON: {error}") from None
    if may_exceed(data, OBJECT) and (problem := excess(value, OBJECT)):
        raise bad_request(f"the body is too large: {problem}")
    return value


def from_yaml(data: bytes, repeated: Repeated | None) -> object:
    """Read YAML that a client sent; JSON is YAML and quicker to read."""
    if data.startswith(b"{"):
        with suppress(ApiError):
            return from_json(data)
    try:
        return document(data, OBJECT, repeated)
    except BadYamlError as error:
        raise bad_request(f"the body is not YAML: {error}") from None


def _body_refused(status: HTTPStatus) -> ApiError:
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return too_large(f"limit is {LARGEST_BODY}")
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return ApiError(status, "Timeout", f"the request did not come within {_BODY_WITHIN:.0f} s")
    return bad_request("the client went away before the whole request had come")
