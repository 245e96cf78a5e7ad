"""A real Prometheus: where `make prometheus` keeps it, and how tests run it and ask it."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final

from support.processes import Group
from support.programs import cache
from support.until import TIMEOUT_S

PROMETHEUS: Final = "3.15.0"
PROGRAMS: Final = ("prometheus", "promtool")
MONITORING: Final = Path(__file__).parents[2] / "deploy" / "chart" / "maar" / "monitoring"


def prometheus_folder() -> Path:
    """Where the programs of this version are, once they are built."""
    return cache() / f"prometheus-{PROMETHEUS}"


def find_prometheus() -> Path | None:
    """The folder with the programs, or nothing where `make prometheus` has not been run."""
    return prometheus_folder() if prometheus_folder().is_dir() else None


def promtool(*arguments: str) -> str:
    """Run promtool; a failure raises with what it said."""
    command = [str(prometheus_folder() / "promtool"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if ended.returncode:
        raise AssertionError(f"promtool {' '.join(arguments)}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


class Prometheus:
    """A Prometheus that scrapes some addresses every two seconds."""

    def __init__(self, processes: Group, folder: Path, port: int, targets: list[str], rules: Path) -> None:
        self._address = f"127.0.0.1:{port}"
        settings = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "maar", "static_configs": [{"targets": targets}]}],
        }
        configuration = folder / "prometheus.json"  # YAML too
        configuration.write_text(json.dumps(settings))
        processes.start(
            "prometheus",
            [
                str(prometheus_folder() / "prometheus"),
                f"--config.file={configuration}",
                f"--storage.tsdb.path={folder / 'series'}",
                f"--web.listen-address={self._address}",
            ],
        )

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://{self._address}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What an expression gives now: series with their labels and values."""
        result: list[dict[str, Any]] = self._data("query", query=expression)["result"]
        return result

    def alert_state(self, name: str) -> str:
        """Whether an alert is firing, pending or inactive."""
        alerts = self._data("alerts")["alerts"]
        states = {one["state"] for one in alerts if one["labels"]["alertname"] == name}
        return next((state for state in ("firing", "pending") if state in states), "inactive")

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"http://{self._address}/-/ready", timeout=TIMEOUT_S) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _data(self, path: str, **parameters: str) -> dict[str, Any]:
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                data: dict[str, Any] = json.load(answer)["data"]
                return data
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None
