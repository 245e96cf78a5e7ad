"""Pages of the console and ways in: the key that a command prints, a token, a token that a proxy sends."""

import asyncio
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Final, Literal
from urllib.parse import parse_qsl, urlencode

from maar.apps.console.assets_folder import Assets
from maar.apps.console.replies import NO_STORE, Header, RefusedError, Reply, redirect
from maar.apps.console.rights import MOST_NAMESPACES
from maar.apps.console.sessions import LONGEST_S, Session, Sessions, is_key
from maar.apps.console.viewer import Viewer
from maar.apps.console.viewers import OWN, Viewers
from maar.serving.http import HttpRequest, read_body

KNOWN_WITHIN_S: Final = 5.0  # who somebody is and what they may list
_LONGEST_FORM: Final = 64 << 10
_FORM_WITHIN_S: Final = 5.0
_HTML: Final = (b"content-type", b"text/html; charset=utf-8")
# With no-referrer browsers send `Origin: null` with the form, and nothing tells that it was ours.
_OWN_REFERRER: Final = (b"referrer-policy", b"same-origin")
_TO_ROOT: Final = (
    b'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>Maar</title>'
    b'<a href="/">Open the console</a>'
)
_BEARER: Final = "bearer "
_WITH_KEY: Final = "open the address that the command has printed, which ends with a key"
_WITH_TOKEN: Final = "log in with a token; kubectl create token NAME --namespace NAMESPACE makes one"  # noqa: S105

Problem = Literal["key", "token", "namespaces", "rejected", "late"]


class Entrance:
    """Lets people in: with the key where there is one, else with their token."""

    def __init__(self, viewers: Viewers, sessions: Sessions, key: str) -> None:
        self._viewers, self._sessions, self._key = viewers, sessions, key
        self._assets = Assets()
        self.pages = {
            ("GET", "/"): self._index,
            ("GET", "/login"): self._login_page,
            ("POST", "/login"): self._login,
            ("GET", "/open"): self._open,
            ("POST", "/logout"): self._logout,
        }
        self.file = self._assets.reply_to

    def session(self, request: HttpRequest) -> Session:
        """The session of a request, or one for it alone where a proxy sends a token with it."""
        bearer = request.header(b"authorization")
        if not self._key and bearer[: len(_BEARER)].lower() == _BEARER:
            token, now = bearer[len(_BEARER) :].strip(), time.time()
            if _is_token(token):
                return Session(token, (), now + LONGEST_S, now)
        session = self._sessions.find(request.header(b"cookie"))
        if session is None:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, f"no session, or it has ended; {self._how}")
        return session

    async def check(self, viewer: Viewer, session: Session) -> None:
        """Wait until the rights of a viewer are known; end the session where its token is rejected."""
        with suppress(TimeoutError):
            async with asyncio.timeout(KNOWN_WITHIN_S):
                await viewer.known.wait()
        self.end_if_rejected(viewer, session)
        if not viewer.known.is_set():
            late = "the API server has not said yet what you may read; try again soon"
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, viewer.problem or late)

    def end_if_rejected(self, viewer: Viewer, session: Session) -> None:
        """End a session whose token the API server does not accept."""
        if viewer.rejected:
            self._sessions.end(session)
            raise RefusedError(
                HTTPStatus.UNAUTHORIZED,
                f"the API server rejects these credentials ({viewer.rejected}); {self._how}",
            )

    def is_open(self, session: Session) -> bool:
        """Whether a session has not ended; a page that follows events uses it."""
        session.used = max(session.used, now := time.time())
        return session.ends > now

    @property
    def _how(self) -> str:
        return _WITH_KEY if self._key else _WITH_TOKEN

    async def _index(self, request: HttpRequest) -> Reply:
        try:
            self.session(request)
        except RefusedError:
            return redirect(f"/login?with={'key' if self._key else 'token'}")
        return self._assets.page("index.html")

    async def _login_page(self, _request: HttpRequest) -> Reply:
        return self._assets.page("login.html", _OWN_REFERRER)

    async def _open(self, request: HttpRequest) -> Reply:
        if not self._key or not is_key(request.query.get("key", ""), self._key):
            return self._again("key")
        cookie = _cookie(self._sessions.open(OWN))
        if request.header(b"sec-fetch-site") in ("cross-site", "same-site"):
            # A strict cookie is not sent after a redirect that began on another site; from our page it is.
            return Reply(_TO_ROOT, headers=(_HTML, NO_STORE, cookie))
        return redirect("/", cookie)

    async def _login(self, request: HttpRequest) -> Reply:
        body = await read_body(request.receive, _LONGEST_FORM, _FORM_WITHIN_S)
        form = dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
        token = form.get("token", "").strip()
        if self._key:
            if not is_key(token, self._key):
                return self._again("key")
            return redirect("/", _cookie(self._sessions.open(OWN)))
        if not _is_token(token):
            return self._again("token")
        named = form.get("namespaces", "").replace(",", " ").split()
        if len(named) > MOST_NAMESPACES:
            return self._again("namespaces")
        session = Session(token, tuple(dict.fromkeys(named)), 0.0, 0.0)
        async with self._viewers.of(token, session.namespaces) as viewer:
            try:
                await self.check(viewer, session)
            except RefusedError as error:
                return self._again("rejected" if error.status == HTTPStatus.UNAUTHORIZED else "late")
        return redirect("/", _cookie(self._sessions.open(token, session.namespaces)))

    async def _logout(self, request: HttpRequest) -> Reply:
        return redirect("/login", _cookie(self._sessions.close(request.header(b"cookie"))))

    def _again(self, problem: Problem) -> Reply:
        """Back to the login page, which has the sentences: a link from elsewhere puts no words there."""
        way = "key" if self._key else "token"
        return redirect(f"/login?{urlencode({'with': way, 'problem': problem})}")


def _is_token(token: str) -> bool:
    """Whether it can stand in a header."""
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def _cookie(header: str) -> Header:
    return b"set-cookie", header.encode()
