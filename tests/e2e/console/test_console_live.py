"""What the page shows is what the API says, while up to 200 changes a second go on."""

import random
import threading
import time
from contextlib import closing
from typing import Final, Self

from playwright.sync_api import Page, expect

from support.api_connection import GROUPS, QUEUES, ApiConnection, create, items
from support.console_program import queue
from support.maar_up import MaarUp
from support.until import wait_until

CHANGES_PER_S: Final = 200
WRITERS: Final = 4
# Every row of a list, from the top to the end of the page: only those on the screen are in the document.
_ALL_ROWS: Final = """async (cells) => {
  const found = {};
  const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  scrollTo(0, 0);
  for (let end = -1; end !== scrollY || scrollY === 0; scrollBy(0, 500)) {
    await frame();
    for (const row of document.querySelectorAll(".window .row")) {
      found[row.dataset.key] = cells.map(cell => row.querySelector(`:scope > .${cell}`).innerText.trim());
    }
    if (end === scrollY) break;
    end = scrollY;
  }
  scrollTo(0, 0);
  return found;
}"""


class Churn:
    """Writers that change weights of queues, and minimums of pod groups, at most so often together."""

    def __init__(self, cluster: MaarUp) -> None:
        self._cluster, self._stop, self.made = cluster, threading.Event(), 0
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        chosen = random.Random(number)
        with closing(ApiConnection(self._cluster.kubeconfig)) as api:
            while not self._stop.is_set():
                team, weight = chosen.randrange(1, 41), chosen.randrange(1, 100)
                if chosen.random() < 0.8:
                    api.request("PATCH", f"{QUEUES}/team-{team}", {"spec": {"weight": weight}})
                else:
                    change = {"spec": {"minMember": 20 + weight}}
                    api.request("PATCH", f"{GROUPS}/large", change)
                self.made += 1
                time.sleep(WRITERS / CHANGES_PER_S)


def test_the_page_follows_200_changes_a_second_and_ends_with_what_the_api_says(
    page: Page, cluster: MaarUp, api: ApiConnection
) -> None:
    create(api, [queue("added-1", "root")])
    page.get_by_role("button", name="Open all").click()
    followed = page.locator(".tree .window .row[data-key=added-1] > .weight")
    with Churn(cluster) as churn:
        for weight in range(100, 116):
            api.request("PATCH", f"{QUEUES}/added-1", {"spec": {"weight": weight}})
            expect(followed).to_have_text(str(weight))
            time.sleep(0.3)
        assert churn.made > 16 * WRITERS, "nothing else went on"
    api.request("PATCH", f"{GROUPS}/large", {"spec": {"minMember": 20}})
    wait_until("the tree shows what the API says", lambda: _tree(page) == _queues(api))
    page.evaluate("location.hash = '#/jobs'")
    page.locator(".jobs .window .row").first.wait_for()
    wait_until("the jobs are those of the API", lambda: _jobs(page) == _groups(api))


def test_new_and_deleted_jobs_come_and_go(page: Page, api: ApiConnection) -> None:
    page.evaluate("location.hash = '#/jobs'")
    made = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "passing"},
        "spec": {"minMember": 1, "queue": "vision"},
    }
    create(api, [made])
    row = page.locator(".jobs .window .row[data-key='default/passing']")
    expect(row).to_be_visible()
    api.request("DELETE", f"{GROUPS}/passing")
    expect(row).to_have_count(0)


def test_a_hidden_tab_receives_nothing_and_catches_up(page: Page, api: ApiConnection) -> None:
    create(api, [queue("added-2")])
    page.get_by_label("Queues named").fill("added-2")
    row = page.locator(".tree .window .row[data-key=added-2] > .weight")
    expect(row).to_have_text("1")
    # A browser without a window never hides a tab, so the page is told that it is hidden.
    hide = """(is) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    api.request("PATCH", f"{QUEUES}/added-2", {"spec": {"weight": 7}})
    page.wait_for_timeout(2_000)
    expect(row).to_have_text("1")
    page.evaluate(hide, False)
    expect(row).to_have_text("7")


def _tree(page: Page) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = page.evaluate(_ALL_ROWS, ["weight", "running", "waiting", "share"])
    return {name: cells for name, cells in shown.items() if name != "root"}


def _queues(api: ApiConnection) -> dict[str, list[str]]:
    found = {}
    for name, one in items(api, QUEUES).items():
        status = one.get("status", {})
        waiting = status.get("inqueue", 0) + status.get("pending", 0)
        numbers = (one["spec"].get("weight", 1), status.get("running", 0), waiting)
        found[name] = [*map(str, numbers), status.get("share") or "0.00"]
    found.pop("root")
    return found


def _jobs(page: Page) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = page.evaluate(_ALL_ROWS, ["queue", "phase"])
    return shown


def _groups(api: ApiConnection) -> dict[str, list[str]]:
    groups = items(api, GROUPS)
    return {f"default/{name}": [one["spec"]["queue"], one["status"]["phase"]] for name, one in groups.items()}
