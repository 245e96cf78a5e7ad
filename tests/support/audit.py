"""Who asked a real API server for what, and whether they were allowed to: read from its audit log."""

import json
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts:maar-system"]},
        {"level": "None"},
    ],
}


class Asked(NamedTuple):
    """A service account, what it wanted to do, and with which resource."""

    account: str
    verb: str
    resource: str  # with its subresource: pods/binding
    group: str = ""


class Audit:
    """What service accounts of maar-system have asked for so far; may be looked at from several threads."""

    def __init__(self, folder: Path) -> None:
        self._policy, self._log = folder / "audit-policy.json", folder / "audit.jsonl"
        self._policy.write_text(json.dumps(POLICY), encoding="utf-8")
        self._log.touch()
        self._file = self._log.open(encoding="utf-8")
        self._rest = ""
        self._lock = Lock()
        self._allowed: Counter[Asked] = Counter()
        self._denied: Counter[Asked] = Counter()

    def flags(self) -> dict[str, str]:
        """What an API server has to be told; it writes before it answers."""
        return {
            "audit-policy-file": str(self._policy),
            "audit-log-path": str(self._log),
            "audit-log-mode": "blocking",
        }

    def denied(self, asked: Asked) -> int:
        """How often this was forbidden."""
        self._read()
        return self._denied[asked]

    def allowed(self, asked: Asked) -> int:
        """How often this was not; a watch counts from its beginning."""
        self._read()
        return self._allowed[asked]

    def requests(self, account: str) -> int:
        """How much it has asked for, allowed or not."""
        self._read()
        both = self._allowed + self._denied
        return sum(count for asked, count in both.items() if asked.account == account)

    def refusals(self, account: str) -> list[Asked]:
        """Everything that was forbidden to an account."""
        self._read()
        return [asked for asked in self._denied if asked.account == account]

    def close(self) -> None:
        """Read no more."""
        self._file.close()

    def _read(self) -> None:
        with self._lock:
            *lines, self._rest = (self._rest + self._file.read()).split("\n")
            for line in lines:
                self._count(json.loads(line))

    def _count(self, entry: dict[str, object]) -> None:
        about, user, marks = entry.get("objectRef"), entry["user"], entry.get("annotations")
        if not isinstance(about, dict) or not isinstance(user, dict) or not isinstance(marks, dict):
            return  # discovery, which is about no resource
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        account, group = user["username"].rpartition(":")[2], about.get("apiGroup", "")
        asked = Asked(account, str(entry["verb"]), resource, group)
        is_allowed = marks["authorization.k8s.io/decision"] == "allow"
        # A refused watch has both stages as well; each request is to count once.
        if entry["stage"] == (
            "ResponseStarted" if is_allowed and asked.verb == "watch" else "ResponseComplete"
        ):
            (self._allowed if is_allowed else self._denied)[asked] += 1
