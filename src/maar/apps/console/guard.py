"""Requests that other sites have browsers send: refused by their Host and Origin.

Three attacks are meant. A site whose name leads to our address (DNS rebinding) would read answers
as its own: the Host must be an address, `localhost`, or a name the console was given; no name of a
site is any of these. A site that has a browser send a form or a request here (cross-site request
forgery): cookies are not sent with it, and besides a POST must come from a page of ours by its
Origin or Sec-Fetch-Site, and to /api have a header that no form can have. A site that frames the
page: headers of every answer forbid that.
"""

import ipaddress
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from maar.apps.console.replies import RefusedError
from maar.serving.http import HttpRequest

OWN_HEADER: Final = b"x-maar-console"
_READS: Final = ("GET", "HEAD")
_NO_HEADER_NEEDED: Final = ("/login",)  # a form sends it


class Guard:
    """Lets requests in that a page of this console, or no page at all, has sent."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self._hosts = frozenset(host.lower().strip("[]") for host in hosts if host)

    def check(self, request: HttpRequest) -> None:
        """Refuse a request that another site may have made."""
        host = request.header(b"host").lower()
        if not self._is_own(host):
            raise RefusedError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "the console does not know this name of itself (the Host header); start it with --public-url,"
                " or open it by its address",
            )
        if request.method in _READS:
            return
        if not _is_from_here(request, host):
            raise RefusedError(
                HTTPStatus.FORBIDDEN,
                "no page of this console sent this request, by its Origin and Sec-Fetch-Site; a program sends"
                " the address of the console as Origin",
            )
        if request.path not in _NO_HEADER_NEEDED and request.header(OWN_HEADER) != "1":
            raise RefusedError(
                HTTPStatus.FORBIDDEN,
                f"a request that changes something needs the header {_shown(OWN_HEADER)}: 1",
            )

    def _is_own(self, host: str) -> bool:
        name = _name(host)
        if name in self._hosts or name == "localhost":
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _is_from_here(request: HttpRequest, host: str) -> bool:
    """Whether a page of this origin sent it; a browser says so in one header or the other."""
    origin, site = request.header(b"origin"), request.header(b"sec-fetch-site")
    if site and site != "same-origin":
        return False
    if not origin or origin == "null":
        return site == "same-origin"
    try:
        return urlsplit(origin).netloc.lower() == host
    except ValueError:
        return False


def _name(host: str) -> str:
    """The name or address in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _shown(header: bytes) -> str:
    return header.decode().title()
