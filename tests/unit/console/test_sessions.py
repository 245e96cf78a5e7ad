"""Sessions: cookies that no script reads, ends, and what other programs of this host have set."""

import pytest

from maar.apps.console import sessions as module
from maar.apps.console.sessions import LONGEST_S, LONGEST_UNUSED_S, Session, Sessions, is_key


class Clock:
    """A clock that is set by hand."""

    now = 1_000.0

    def __call__(self) -> float:
        """Say what time it is."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> Sessions:
    return Sessions("console", is_secure=False, now=clock)


def cookie(header: str) -> str:
    """What a browser sends back."""
    return header.partition(";")[0]


def test_a_session_is_found_by_its_cookie_among_others(sessions: Sessions) -> None:
    mine = cookie(sessions.open("token-a", ("one",)))
    cookie_of_other = cookie(sessions.open("token-b"))
    found = sessions.find(f'theme="dark; {{"x": 1}}; =;; {mine}; other=a=b')
    assert found is not None
    assert (found.token, found.namespaces) == ("token-a", ("one",))
    assert sessions.find(cookie_of_other) is not found


@pytest.mark.parametrize(
    "cookies", ["", "console=", "console", "console=x", "=; ;", "console=\x00", "x" * 9_000]
)
def test_other_cookies_are_no_session(sessions: Sessions, cookies: str) -> None:
    sessions.open("token")
    assert sessions.find(cookies) is None


def test_it_ends_unused_and_after_half_a_day(sessions: Sessions, clock: Clock) -> None:
    used, unused = cookie(sessions.open("a")), cookie(sessions.open("b"))
    began = clock.now
    while clock.now + LONGEST_UNUSED_S / 2 < began + LONGEST_S:
        clock.now += LONGEST_UNUSED_S / 2
        assert sessions.find(used) is not None
    assert sessions.find(unused) is None
    clock.now = began + LONGEST_S
    assert sessions.find(used) is None


def test_it_ends_at_a_logout_for_pages_that_are_open_too(sessions: Sessions) -> None:
    mine = cookie(sessions.open("a"))
    open_page = sessions.find(mine)
    assert open_page is not None
    assert "Max-Age=0" in sessions.close(mine)
    assert sessions.find(mine) is None
    assert open_page.ends == 0


def test_its_cookie_is_out_of_reach_of_scripts_and_other_sites() -> None:
    plain = Sessions("console", is_secure=False).open("a")
    secure = Sessions("console", is_secure=True).open("a")
    assert "HttpOnly; SameSite=Strict" in plain
    assert "Secure" not in plain
    assert secure.startswith("__Host-console=")
    assert secure.endswith("; HttpOnly; SameSite=Strict; Secure")


def test_so_many_at_a_time(sessions: Sessions, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    opened = []
    for number in range(5):
        clock.now += 1
        opened.append(cookie(sessions.open(str(number))))
    assert [sessions.find(one) is not None for one in opened] == [False, False, True, True, True]


def test_a_token_is_not_shown_where_a_session_is() -> None:
    assert "secret" not in repr(Session("secret", (), 0.0, 0.0))


@pytest.mark.parametrize(("given", "is_it"), [("key", True), ("", False), ("Key", False), ("k\xe9y", False)])
def test_a_key_is_compared_whole(given: str, is_it: bool) -> None:  # noqa: FBT001  # a case of the table
    assert is_key(given, "key") is is_it


def test_one_token_has_so_many_and_what_is_open_for_the_others_ends(
    sessions: Sessions, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_OF_A_TOKEN", 2)
    other, ended = cookie(sessions.open("other")), []
    for number in range(4):
        clock.now += 1
        opened = sessions.find(cookie(sessions.open("mine")))
        assert opened is not None
        opened.on_end.append(lambda number=number: ended.append(number))  # type: ignore[misc]
    assert ended == [0, 1]
    assert sessions.find(other) is not None
    clock.now += LONGEST_UNUSED_S + 1
    sessions.open("mine")
    assert ended == [0, 1, 2, 3]
