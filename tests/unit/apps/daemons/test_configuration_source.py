"""A configuration that is followed as it changes, and refused where it is bad."""

import asyncio
from pathlib import Path

import pytest

from maar.apps.daemons import configuration_source
from maar.apps.daemons.configuration_source import UnreadableError, follow, from_file
from maar.core.policy.configuration import BadConfigurationError, Configuration
from support.until import until

pytestmark = pytest.mark.anyio

GOOD = 'actions: "allocate"\n'
OTHER = 'actions: "allocate, backfill"\n'
BAD = 'actions: "fly"\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "scheduler.conf"
    found.write_text(GOOD)
    return found


def put(file: Path, text: str | None) -> None:
    """Let the file say something, or be gone."""
    if text is None:
        file.unlink()
    else:
        file.write_text(text)


async def test_a_file_is_given_once_until_it_changes(file: Path) -> None:
    source = from_file(file)
    first = await source.changed()
    assert first is not None
    assert first.actions == ("allocate",)
    assert await source.changed() is None
    put(file, OTHER)
    second = await source.changed()
    assert second is not None
    assert second.actions == ("allocate", "backfill")


async def test_a_bad_one_says_where_and_what_is_wrong(file: Path) -> None:
    put(file, BAD)
    with pytest.raises(BadConfigurationError, match=r"scheduler\.conf: actions.*fly"):
        await from_file(file).changed()
    put(file, "actions: [")
    with pytest.raises(BadConfigurationError, match=r"scheduler\.conf: not YAML"):
        await from_file(file).changed()


async def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"none: cannot be read"):
        await from_file(tmp_path / "none").changed()


async def test_what_is_bad_or_gone_is_refused_once_and_what_is_mended_is_taken(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuration_source, "LOOK_EVERY_S", 0.01)
    accepted: list[Configuration] = []
    refused: list[str] = []
    source = from_file(file)
    await source.changed()
    following = asyncio.create_task(follow(source, accepted.append, refused.append))
    put(file, BAD)
    await until("the bad one is refused", lambda: len(refused) == 1)
    put(file, None)
    await until("its absence is noticed", lambda: len(refused) == 2)
    await asyncio.sleep(0.1)
    put(file, GOOD)
    await until("the good one is taken", lambda: bool(accepted))
    following.cancel()
    assert accepted[0].actions == ("allocate",)
    assert len(refused) == 2
    assert "fly" in refused[0]
    assert "cannot be read" in refused[1]
