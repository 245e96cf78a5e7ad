"""The address of an API server, split into its parts."""

from functools import lru_cache
from typing import NamedTuple

from yarl import URL


class Address(NamedTuple):
    """Host and port to connect to, the Host header, and the prefix of all paths."""

    host: str
    port: int
    is_tls: bool
    authority: str
    prefix: str
    origin: str

    @property
    def base(self) -> str:
        """The part of a URL before the path of a request."""
        return f"{self.origin}{self.prefix}"


@lru_cache(maxsize=16)
def address_of(server: str) -> Address:
    """Parse an address; raise a ValueError that says what is wrong with it."""
    advice = "write it as https://HOST:PORT, in the kubeconfig or wherever it was named"
    try:
        url = URL(server)
        (url.raw_host or "").encode("idna")  # what no name server could look up is refused here
    except ValueError as error:
        raise ValueError(f"{server!r} is not the address of an API server: {error}; {advice}") from error
    if url.scheme not in ("http", "https") or not url.host or not url.port:
        raise ValueError(f"{server!r} is not the address of an API server; {advice}")
    return Address(
        url.raw_host or "",
        url.port,
        url.scheme == "https",
        url.host_port_subcomponent or "",
        url.raw_path.rstrip("/"),
        str(url.origin()),
    )
