"""Files of secrets: made once, whole, for their owner alone; damaged ones stop the start with a sentence."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from maar.embedded.access import ADMINISTRATOR, BadSecretError, certificate, token
from maar.embedded.data_folder import write_private
from maar.embedded.server import Server
from support.embedded import opened

HOSTS = ("127.0.0.1", "localhost")
GARBAGE = b"\xff\x00garbage" * 10


async def no_logs(*_: object) -> None:
    """No pod has any."""


def made(folder: Path) -> dict[str, bytes]:
    token(folder, "admin")
    certificate(folder, HOSTS)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_secrets_are_made_once_and_are_their_owners_alone(tmp_path: Path) -> None:
    first = made(tmp_path)
    assert sorted(first) == ["admin.token", "server.crt", "server.key"]
    assert made(tmp_path) == first
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["admin.token", "server.crt", "server.key"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b" \n",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda _: GARBAGE,
        lambda data: b"\0" * len(data),
    ],
    ids=["empty", "blank", "ten bytes", "half", "garbage", "zeros"],
)
def test_a_damaged_file_of_secrets_is_named_with_what_to_do(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(damage(made(tmp_path)[name]))
    with pytest.raises(BadSecretError) as refusal:
        made(tmp_path)
    assert str(path) in str(refusal.value)
    assert "remove it and start again" in str(refusal.value)
    path.unlink()
    if name == "server.key":
        (tmp_path / "server.crt").unlink()
    made(tmp_path)  # what the sentence says


def test_a_key_that_belongs_to_another_certificate_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made(tmp_path / name)
    write_private(tmp_path / "a" / "server.key", (tmp_path / "b" / "server.key").read_bytes())
    with pytest.raises(BadSecretError, match=r"not the certificate of server\.key"):
        certificate(tmp_path / "a", HOSTS)


def test_a_certificate_without_its_key_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "server.key").unlink()
    with pytest.raises(BadSecretError, match="missing"):
        certificate(tmp_path, HOSTS)


def test_a_certificate_for_other_hosts_keeps_the_key(tmp_path: Path) -> None:
    before = made(tmp_path)
    certificate(tmp_path, ("example.org", *HOSTS))
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert after["server.crt"] != before["server.crt"]
    assert after["server.key"] == before["server.key"]


def test_a_token_that_ends_with_a_line_is_the_same_token(tmp_path: Path) -> None:
    first = token(tmp_path, "admin")
    (tmp_path / "admin.token").write_text(f"{first}\n")
    assert token(tmp_path, "admin") == first


def test_a_crash_while_a_file_is_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = token(tmp_path, "admin")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(tmp_path / "admin.token", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["admin.token"]
    assert (tmp_path / "admin.token").read_text() == first


def test_no_server_takes_an_empty_token(tmp_path: Path) -> None:
    with opened(tmp_path) as embedded, pytest.raises(ValueError, match="everybody"):
        Server(embedded.cluster, {"": ADMINISTRATOR}, no_logs)  # type: ignore[arg-type]
