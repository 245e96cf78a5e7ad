"""Sessions: who has logged in, known by a random number in a cookie; kept in memory only."""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

LONGEST_S: Final = 12 * 3600.0
LONGEST_UNUSED_S: Final = 3600.0
MOST: Final = 1_000
MOST_OF_A_TOKEN: Final = 100
_BYTES: Final = 32


@dataclass
class Session:
    """One login; the token stays here."""

    token: str
    namespaces: tuple[str, ...]
    ends: float  # seconds of 1970
    used: float
    on_end: list[Callable[[], None]] = field(default_factory=list)  # what is open for it hears of its end

    def end(self) -> None:
        """End it, and what is open for it."""
        self.ends = 0.0
        for tell in self.on_end:
            tell()

    def __repr__(self) -> str:
        return "Session()"  # a token never stands in a log


class Sessions:
    """All logins, by the number in the cookie."""

    def __init__(self, cookie: str, *, is_secure: bool, now: Callable[[], float] = time.time) -> None:
        self._name = f"__Host-{cookie}" if is_secure else cookie
        self._is_secure, self._now = is_secure, now
        self._by_number: dict[str, Session] = {}

    def open(self, token: str, namespaces: tuple[str, ...] = ()) -> str:
        """Begin a session; give the header that sets its cookie."""
        self._forget_old()
        for most, rivals in ((MOST_OF_A_TOKEN, self._of(token)), (MOST, list(self._by_number.values()))):
            if len(rivals) >= most:
                self.end(min(rivals, key=lambda one: one.used))
        number, now = secrets.token_urlsafe(_BYTES), self._now()
        self._by_number[number] = Session(token, namespaces, now + LONGEST_S, now)
        return self._header(number, LONGEST_S)

    def find(self, cookies: str) -> Session | None:
        """The session of a request; None where it has none, or it has ended."""
        number = self._number(cookies)
        session = self._by_number.get(number)
        if session is None:
            return None
        if self._is_over(session):
            self.end(session)
            return None
        session.used = self._now()
        return session

    def close(self, cookies: str) -> str:
        """End the session of a request; give the header that removes its cookie."""
        session = self._by_number.get(self._number(cookies))
        if session is not None:
            self.end(session)
        return self._header("", 0)

    def end(self, session: Session) -> None:
        """End a session; streams that are open for it end too."""
        session.end()
        self._by_number = {number: one for number, one in self._by_number.items() if one is not session}

    def _of(self, token: str) -> list[Session]:
        return [one for one in self._by_number.values() if one.token == token]

    def _number(self, cookies: str) -> str:
        """The value of our cookie; what others have set on this host may look like anything."""
        pairs = (cookie.strip().partition("=") for cookie in cookies.split(";"))
        return next((value for name, _, value in pairs if name == self._name), "")

    def _is_over(self, session: Session) -> bool:
        now = self._now()
        return now >= session.ends or now - session.used > LONGEST_UNUSED_S

    def _forget_old(self) -> None:
        for session in [one for one in self._by_number.values() if self._is_over(one)]:
            self.end(session)

    def _header(self, number: str, age_s: float) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self._name}={number}; Path=/; Max-Age={age_s:.0f}; HttpOnly; SameSite=Strict{secure}"


def is_key(given: str, key: str) -> bool:
    """Whether it is the key, in a time that tells nothing about it."""
    return hmac.compare_digest(given.encode(), key.encode())
