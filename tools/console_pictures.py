"""Draws docs/pictures/console-*.png: the console over `maar up` with an example organisation, in both themes.

Run it after the page has changed: `PYTHONPATH=tests python tools/console_pictures.py`. It needs
Chromium (`make browser`).
"""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from support.api_connection import GROUPS, ApiConnection, create, items
from support.browser import running_browser
from support.console_program import Console, Document, gang, queue
from support.maar_up import MaarUp
from support.until import wait_until

PICTURES: Final = Path(__file__).parents[1] / "docs" / "pictures"
SIZE: Final = {"width": 1200, "height": 620}
STARTED: Final = 6  # gangs for which there is room


def organisation() -> Iterator[Document]:
    """Three departments: one borrows, one has something reserved and idle, one waits."""
    yield queue("research", weight=3, guarantee={"resource": {"cpu": "24"}})
    yield queue("language", "research", weight=2)
    yield queue("vision", "research", weight=1, capability={"cpu": "20", "memory": "80Gi"})
    yield queue("robotics", "research", weight=1)
    yield queue("serving", weight=2, guarantee={"resource": {"cpu": "16"}}, capability={"cpu": "40"})
    yield queue("search", "serving", weight=3)
    yield queue("mail", "serving", weight=1)
    yield queue("batch", weight=1)
    yield queue("nightly", "batch")
    yield queue("sweeps", "batch")
    yield from gang("tune", "language", pods=10, cpu="2")
    yield from gang("segment", "vision", pods=3, cpu="2")
    yield from gang("answer", "search", pods=4, cpu="2")
    yield from gang("deliver", "mail", pods=2)
    yield from gang("backup", "nightly", pods=4)
    yield from gang("sweep", "sweeps", pods=14)


def main() -> None:
    """Draw all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        MaarUp(Path(folder), "--nodes", "8x8cpu,32Gi") as cluster,
        closing(ApiConnection(cluster.kubeconfig)) as api,
        Console(Path(folder), cluster.kubeconfig) as console,
        running_browser() as browser,
    ):
        create(api, organisation())
        wait_until("everything runs", lambda: _running(api) == STARTED)
        create(api, gang("retrain", "robotics", pods=6, cpu="4"))
        for theme in ("light", "dark"):
            page = browser.new_page(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
            page.goto(console.address)
            page.locator(".tree .window .row").first.wait_for()
            page.wait_for_timeout(3_000)  # the scheduler has written what queues deserve
            page.screenshot(path=PICTURES / f"console-tree-{theme}.png")
            page.close()


def _running(api: ApiConnection) -> int:
    return [one.get("status", {}).get("phase") for one in items(api, GROUPS).values()].count("Running")


if __name__ == "__main__":
    main()
