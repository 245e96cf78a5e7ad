"""What a console is started with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Login = Literal["key", "token"]

HISTORY: Final = "console-history.sqlite"  # in the data folder of maar up


@dataclass(frozen=True)
class ConsoleSettings:
    """Where the console listens, how people get in, and what it may do."""

    host: str = "127.0.0.1"
    port: int | None = None  # None: the usual one, or a free one where that is taken
    kubeconfig: Path | None = None
    context: str | None = None
    login: Login = "key"  # with the printed key and the console's own rights, or with a token and its rights
    key_file: Path | None = None  # where the printed key is kept; None: each start has a key of its own
    public_url: str = ""  # as browsers reach it, where that is not HOST:PORT
    certificate: Path | None = None
    certificate_key: Path | None = None
    allows_writes: bool = False
    history: Path | None = None  # the file that samples are kept in; None: no history
    history_folder: Path | None = None  # instead of that: a file for each cluster is kept there
    prometheus: str = ""  # the address of a server that has the history instead
    is_warm: bool = True  # whether objects are read before somebody looks, where a kubeconfig is used

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it by TLS, so that they may be asked to send cookies no other way."""
        return self.certificate is not None or self.public_url.startswith("https://")
