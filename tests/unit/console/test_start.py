"""How a console starts: where it listens, with TLS, and what it says to settings that cannot work."""

import socket
import ssl
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maar.apps.console import place as place_module
from maar.apps.console.key_file import KeyFileError
from maar.apps.console.place import take_place
from maar.apps.console.program import ConsoleError, run
from maar.apps.console.settings import ConsoleSettings
from maar.cli.main import maar_app
from maar.serving.certificates import Validity, key_pem, new_key, server_certificate
from maar.serving.listening import PortTakenError
from support.console import nowhere, running_console

HOST = "127.0.0.1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def certificate(folder: Path) -> ConsoleSettings:
    """Settings with a certificate that signs itself."""
    key, files = new_key(), (folder / "tls.crt", folder / "tls.key")
    validity = Validity(datetime.now(UTC), timedelta(days=1))
    files[0].write_bytes(server_certificate("console", key, [HOST], validity))
    files[1].write_bytes(key_pem(key))
    return ConsoleSettings(port=0, certificate=files[0], certificate_key=files[1])


def test_without_a_port_it_takes_the_usual_one_or_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket()) as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(place_module, "DEFAULT_PORT", port)
        with closing(take_place(ConsoleSettings()).socket) as other:
            assert other.getsockname()[1] != port
        with pytest.raises(PortTakenError, match="name another port with --console-port"):
            take_place(ConsoleSettings(port=port), "--console-port")
    with closing(take_place(ConsoleSettings()).socket) as usual:
        assert usual.getsockname()[1] == port


@pytest.mark.parametrize(
    ("settings", "start"),
    [
        (ConsoleSettings(port=0, host="0.0.0.0"), "http://127.0.0.1:"),  # noqa: S104  # what is opened from here
        (
            ConsoleSettings(port=0, public_url="https://maar.example.com/"),
            "https://maar.example.com/open?key=",
        ),
        (ConsoleSettings(port=0, certificate=Path("x")), "https://127.0.0.1:"),
    ],
)
def test_it_says_what_to_open(settings: ConsoleSettings, start: str) -> None:
    place = take_place(settings)
    with closing(place.socket):
        assert place.address.startswith(start)
        assert place.key not in repr(place)


def test_every_start_has_another_key() -> None:
    places = [take_place(ConsoleSettings(port=0)) for _ in range(2)]
    for place in places:
        place.socket.close()
    assert places[0].key != places[1].key
    assert len(places[0].key) >= 43  # 256 bits
    tokens = take_place(ConsoleSettings(port=0, login="token"))
    tokens.socket.close()
    assert (tokens.key, "key" in tokens.address) == ("", False)


@pytest.mark.anyio
async def test_a_certificate_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    settings = ConsoleSettings(port=0, certificate=tmp_path / "none", certificate_key=tmp_path / "none")
    with pytest.raises(ConsoleError, match="it cannot be used with its key"):
        await run(settings, lambda _: None)


@pytest.mark.anyio
async def test_over_tls_cookies_go_no_other_way(tmp_path: Path) -> None:
    settings = certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(settings.certificate))
    async with running_console(nowhere(tmp_path), settings) as client:
        path = f"{client.origin}{client.address.removeprefix(client.origin)}"
        async with client.http.get(path, ssl=trusted, allow_redirects=False) as answer:
            assert answer.status == 303
            cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-maar-console-")
    assert cookie.endswith("; Secure")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--public-url", "maar.example.com"], "write https://HOST or https://HOST:PORT, no path"),
        (["--public-url", "https://maar.example.com/console"], "no path"),
        (["--public-url", "https://[::1"], "no path"),
        (["--prometheus", "nope"], "--prometheus nope: write http://HOST:PORT"),
        (["--prometheus", "prometheus:9090"], "write http://HOST:PORT"),
        (["--prometheus", "http://["], "write http://HOST:PORT"),
        (["--tls-key", "x"], "give both, or neither"),
        (["--login", "password"], "'key', 'token'"),
    ],
)
def test_flags_that_cannot_work_are_refused(flags: list[str], words: str) -> None:
    done = CliRunner().invoke(maar_app, ["console", *flags])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_a_key_in_a_file_is_the_same_at_every_start_and_readable_by_nobody_else(tmp_path: Path) -> None:
    file = tmp_path / "key"
    settings = ConsoleSettings(port=0, key_file=file)
    with closing((first := take_place(settings)).socket), closing((second := take_place(settings)).socket):
        assert first.key == second.key == file.read_text(encoding="utf-8").strip()
    with closing((other := take_place(ConsoleSettings(port=0))).socket):
        assert other.key != first.key
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    with pytest.raises(KeyFileError, match=r"can be read by others; run chmod 600"):
        take_place(settings)


@pytest.mark.parametrize("key", ["", "short", "a" * 19, "spaces are not good in a URL", "b" * 201])
def test_a_file_without_a_good_key_is_refused(tmp_path: Path, key: str) -> None:
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(key, encoding="utf-8")
    with pytest.raises(KeyFileError, match="remove it, and the next start writes a new one"):
        take_place(ConsoleSettings(port=0, key_file=file))


def test_a_key_file_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="no such file or directory; name another file"):
        take_place(ConsoleSettings(port=0, key_file=tmp_path / "nowhere" / "key"))
