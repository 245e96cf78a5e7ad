"""Logs: every line can be read, whatever is logged, and no secret is in it."""

import asyncio
import json
import logging
import os
import pty
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any, Final, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maar.apps.daemons.logs import HIDDEN, LogFormat, blotted, set_up_logs
from maar.kube.sources import Proofs

Json = dict[str, Any]
LOG: Final = logging.getLogger("maar.test")
LIBRARIES: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "aiohttp")

# Made up: nobody has ever been given any of these.
JWT: Final = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJub2JvZHkifQ.c2lnbmF0dXJl-_x"
OPAQUE: Final = "k7f3.0p4qu3-n0body"
KEY: Final = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIabc\nAwEHoUQD\n-----END EC PRIVATE KEY-----"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("", *LIBRARIES)]
    before = [(list(one.handlers), one.level, one.propagate) for one in loggers]
    yield
    for one, (handlers, level, propagates) in zip(loggers, before, strict=True):
        one.handlers[:], one.propagate = handlers, propagates
        one.setLevel(level)
    logging.captureWarnings(capture=False)


class Stubborn:
    """An object that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("not me")


class Unreadable(Mapping[str, int]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("changed size during iteration")

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "unreadable"


def fail(why: str) -> NoReturn:
    raise ValueError(why)


def logged(capsys: pytest.CaptureFixture[str]) -> list[Json]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_json_line_has_a_time_a_level_a_logger_a_message_and_the_fields_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up_logs("json")
    LOG.debug("too small a matter")
    LOG.warning("pod %s waits", "a/b", extra={"queue": "q", "cpu": 2.5, "nodes": ("n1", "n2"), "left": None})
    (line,) = logged(capsys)
    time = line.pop("time")
    assert time.endswith("Z")
    assert datetime.now(UTC) - datetime.fromisoformat(time) < timedelta(minutes=1)
    assert line == {
        "level": "warning", "logger": "maar.test", "message": "pod a/b waits",
        "queue": "q", "cpu": 2.5, "nodes": ["n1", "n2"], "left": None,
    }  # fmt: skip


def test_an_exception_is_one_field_of_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("json")
    try:
        fail("two\nlines")
    except ValueError:
        LOG.exception("it failed")
    (line,) = logged(capsys)
    assert line["message"] == "it failed"
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert line["exception"].endswith("ValueError: two\nlines")


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("share", float("inf"), "inf"),
        ("nothing", float("nan"), "nan"),
        ("digits", 10**5000, "<int that cannot be shown: ValueError>"),
        ("object", Stubborn(), "<Stubborn that cannot be shown: RuntimeError>"),
        ("mapping", Unreadable(), "unreadable"),
        ("nested", {"a": [{"b": {1}}]}, {"a": [{"b": [1]}]}),
        ("bytes", b"\xff", "b'\\xff'"),
        ("half", "a lone \udc80 half", "a lone \udc80 half"),
    ],
    ids=["infinite", "not a number", "long", "stubborn", "unreadable", "nested", "bytes", "half a character"],
)
def test_strange_values_make_a_line_like_any_other(
    capsys: pytest.CaptureFixture[str], field: str, value: object, shown: object
) -> None:
    set_up_logs("json")
    LOG.info("reported", extra={field: value})
    assert logged(capsys)[0][field] == shown
    set_up_logs("text")
    LOG.info("reported", extra={field: value})
    assert "INFO     maar.test: reported " in capsys.readouterr().err


def test_what_contains_itself_is_shown_as_deep_as_makes_sense(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("json")
    round_and_round: list[object] = []
    round_and_round.append(round_and_round)
    LOG.info("reported", extra={"list": round_and_round})
    assert logged(capsys)[0]["list"] == [[[[[["[[...]]"]]]]]]


def test_arguments_that_do_not_fit_do_not_lose_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("json")
    misfit = "%d pods of %s"  # not where it is logged, or a linter would see it
    LOG.error(misfit, "many")
    LOG.error("%s", Stubborn())
    first, second = logged(capsys)
    assert first["message"].startswith("%d pods of %s (its arguments do not fit: ")
    assert second["message"] == "%s (its arguments do not fit: not me)"


def test_a_field_does_not_take_the_place_of_one_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("json")
    LOG.info("reported", extra={"level": 7, "time": "noon"})
    (line,) = logged(capsys)
    assert (line["level"], line["level_"], line["time_"]) == ("info", 7, "noon")


@given(
    message=st.text(),
    fields=st.dictionaries(
        st.text(min_size=1).filter(lambda name: name not in vars(logging.makeLogRecord({}))),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
        max_size=3,
    ),
)
def test_whatever_is_logged_is_one_line_of_json(message: str, fields: Json) -> None:
    stderr, sys.stderr = sys.stderr, StringIO()
    try:
        set_up_logs("json")
        LOG.info("%s", message, extra={k: v for k, v in fields.items() if k not in ("message", "asctime")})
        reported = sys.stderr.getvalue()
    finally:
        sys.stderr = stderr
    assert reported.isascii()
    assert reported.count("\n") == 1
    assert json.loads(reported)["message"] == blotted(message)


def test_text_is_for_people_and_nothing_in_it_can_pass_for_another_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up_logs("text")
    LOG.error("pod a/b\n2026-01-01T00:00:00.000Z INFO forged\x1b[31m", extra={"queue": "q"})
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("Z ERROR    maar.test: pod a/b")
    assert second == "    2026-01-01T00:00:00.000Z INFO forged\\x1b[31m queue=q"


def test_an_exception_comes_below_its_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("text")
    LOG.error("it failed", exc_info=ValueError("why"))
    assert capsys.readouterr().err.splitlines()[1:] == ["    ValueError: why"]


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_text_is_coloured_on_a_terminal_only(environment: dict[str, str], coloured: bool) -> None:  # noqa: FBT001  a case
    imports = "import logging; from maar.apps.daemons.logs import set_up_logs"
    program = f"{imports}; set_up_logs('text'); logging.info('hello')"
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, "rb") as terminal:
        with os.fdopen(theirs, "wb") as stderr:
            subprocess.run(
                [sys.executable, "-c", program], stderr=stderr, env=inherited | environment, check=True
            )
        reported = terminal.readline()
    assert b"hello" in reported
    assert (b"\x1b[32m" in reported) is coloured


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Authorization: Bearer {OPAQUE}", f"Authorization: Bearer {HIDDEN}"),
        (f"headers={{'Authorization': 'Bearer {JWT}'}}", f"headers={{'Authorization': 'Bearer {HIDDEN}'}}"),
        ("Authorization: Basic bm9ib2R5Om5vdGhpbmc=", f"Authorization: Basic {HIDDEN}"),
        (f"the server said {JWT} is expired", f"the server said {HIDDEN} is expired"),
        (f"bad line: token: {OPAQUE}", f"bad line: token: {HIDDEN}"),
        (f'{{"token":"{OPAQUE}"}}', f'{{"token":"{HIDDEN}"}}'),
        ("client-key-data: TUhjQ0FRRUU=", f"client-key-data: {HIDDEN}"),
        ("http://nobody:n0thing@proxy:3128/", f"http://nobody:{HIDDEN}@proxy:3128/"),
        (f"the key\n{KEY}\nis there", f"the key\n{HIDDEN}\nis there"),
        (KEY[:50], HIDDEN),
    ],
)
def test_secrets_are_blotted_out_of_whatever_they_stand_in(text: str, left: str) -> None:
    assert blotted(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "pod a/b waits for basic settings of the queue",
        "the secret maar-system/maar-webhooks was renewed",
        "lease maar-system/maar-scheduler: held by host_1_ab12",
        "https://127.0.0.1:6443/api/v1/pods?watch=true",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert blotted(text) == text


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_part_of_a_line_has_a_secret(capsys: pytest.CaptureFixture[str], log_format: LogFormat) -> None:
    set_up_logs(log_format)
    proofs = Proofs("https://x", "default", f"Bearer {OPAQUE}", None, None, None, True, None, None)
    try:
        fail(f"cannot go on with {proofs} and {JWT}")
    except ValueError:
        LOG.exception(
            "with %s",
            proofs,
            extra={"proofs": proofs, "api_token": OPAQUE, "by": {"password": "x1y2z3"}},
        )
    reported = capsys.readouterr().err
    assert "cannot go on" in reported
    assert not [secret for secret in (OPAQUE, JWT, "x1y2z3") if secret in reported]


def test_libraries_and_warnings_go_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("uvicorn.error").addHandler(logging.StreamHandler())
    set_up_logs("json")
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("uvicorn.error").error("refused", extra={"color_message": "\x1b[1mrefused"})
    logging.getLogger("aiohttp.client").warning("slow")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    uvicorns, aiohttps, pythons = logged(capsys)
    assert (uvicorns["logger"], uvicorns["message"]) == ("uvicorn.error", "refused")
    assert "color_message" not in uvicorns
    assert (aiohttps["logger"], pythons["logger"]) == ("aiohttp.client", "py.warnings")


def test_what_an_event_loop_finds_wrong_is_a_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("json")

    async def run() -> None:
        asyncio.get_running_loop().call_soon(fail, "in a callback")
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(run())
    (line,) = logged(capsys)
    assert line["logger"] == "asyncio"
    assert line["exception"].endswith("ValueError: in a callback")
