"""The console in a real browser, 1,000 queues and 10,000 jobs: first picture, changes, scrolling.

The reference of a load is that of the login page in the same run: what browser, connection and
style sheets take. The queues and jobs are written once, without a scheduler; statuses are made up.
Times are those that the browser measures, from the start of the navigation or, for a change, from
the moment before it is sent to the API server; below the first picture stands how long the page's
own thread was at work for it, which other work on the machine does not lengthen.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measure import line

from support.api_connection import GROUPS, QUEUES, ApiConnection
from support.browser import chromium, running_browser
from support.console_program import Console, Document, queue
from support.maar_up import MaarUp

DEPARTMENTS, TEAMS, JOBS = 30, 32, 10_000
LOADS, CHANGES = 7, 30
CPU = 1_024
WRITERS = 4
# When something that a selector finds is there for the first time, in milliseconds since the navigation.
_FIRST = """selector => {
  const seen = () => {
    if (document.querySelector(selector)) window.first ??= performance.now();
    else requestAnimationFrame(seen);
  };
  seen();
}"""
# Scroll through the whole list; the time between two frames, the longest one and that of most.
_SCROLL = """async () => {
  const frames = [];
  let last = performance.now();
  for (let step = 0; step < 120; step += 1) {
    scrollBy(0, 2500);
    await new Promise(done => requestAnimationFrame(done));
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  frames.sort((a, b) => a - b);
  return [frames[60], frames[119]];
}"""


def queues() -> Iterator[tuple[Document, dict[str, object]]]:
    """A tree of three levels, and what a scheduler would have written about each queue."""
    chosen = random.Random(1)

    def status(part: float) -> dict[str, object]:
        deserved = CPU * part
        used = deserved * chosen.uniform(0.2, 1.4)
        amounts = {
            name: {"cpu": f"{int(cpu * 1000)}m", "memory": f"{int(cpu * 4)}Gi"}
            for name, cpu in (("deserved", deserved), ("used", used), ("allocated", used))
        }
        return {**amounts, "state": "Open", "share": f"{used / deserved:.2f}", "running": 3, "pending": 7}

    for number in range(DEPARTMENTS):
        yield queue(f"department-{number}", weight=chosen.randrange(1, 9)), status(1 / DEPARTMENTS)
        for team in range(TEAMS):
            name = f"team-{number}-{team}"
            part = 1 / DEPARTMENTS / TEAMS
            yield queue(name, f"department-{number}", weight=chosen.randrange(1, 9)), status(part)


def write_all(cluster: MaarUp) -> None:
    """Write queues with statuses, and jobs, over a few connections."""
    connections = [ApiConnection(cluster.kubeconfig) for _ in range(WRITERS)]

    def share_out(work: list[Callable[[ApiConnection], object]]) -> None:
        def some(number: int) -> None:
            for one in work[number::WRITERS]:
                one(connections[number])

        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(some, range(WRITERS)))

    tree = list(queues())
    root: dict[str, object] = {
        "deserved": {"cpu": str(CPU), "memory": f"{4 * CPU}Gi"},
        "used": {"cpu": str(CPU // 2)},
    }
    level = [one for one in tree if str(one[0]["spec"]).find("'root'") >= 0]
    below = [one for one in tree if one not in level]
    for part in (level, below):
        share_out([lambda api, one=one: _create(api, QUEUES, one[0], one[1]) for one in part])  # type: ignore[misc]
    _create(connections[0], QUEUES, queue("root", ""), root)
    names = [str(one[0]["metadata"]["name"]) for one in below]  # type: ignore[index]
    groups = [_group(number, names[number % len(names)]) for number in range(JOBS)]
    phases = ("Running", "Pending", "Inqueue")
    share_out(
        [
            lambda api, one=one, phase=phases[number % 3]: _create(api, GROUPS, one, {"phase": phase})  # type: ignore[misc]
            for number, one in enumerate(groups)
        ]
    )
    for connection in connections:
        connection.close()


def _group(number: int, in_queue: str) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"job-{number}"},
        "spec": {"minMember": 4, "queue": in_queue, "minResources": {"cpu": "4", "memory": "16Gi"}},
    }


def _create(api: ApiConnection, path: str, document: Document, status: dict[str, object]) -> None:
    name = document["metadata"]["name"]  # type: ignore[index]
    api.request("POST", path, document)
    api.request("PATCH", f"{path}/{name}/status", {"status": status})


def loads(browser: Browser, console: Console, address: str, selector: str) -> tuple[list[float], list[float]]:
    """How long first pictures took, and the page's thread; each in a profile with an empty cache."""
    found, busy = list[float](), list[float]()
    for _ in range(LOADS):
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page = context.new_page()
        page.goto(console.address)
        page.goto("about:blank")
        page.add_init_script(f"({_FIRST})({selector!r})")
        thread = context.new_cdp_session(page)
        thread.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(f"{console.url}/{address}", wait_until="commit")
        page.locator(selector).first.wait_for()
        metrics = {one["name"]: one["value"] for one in thread.send("Performance.getMetrics")["metrics"]}
        busy.append(metrics["TaskDuration"] * 1_000)
        found.append(page.evaluate("window.first"))
        context.close()
    return sorted(found), sorted(busy)


def changes(page: Page, cluster: MaarUp) -> list[float]:
    """How long changes took from the API server to the screen, in milliseconds."""
    found = []
    cell = ".tree .window .row[data-key=department-0] > .weight"
    wait = """([cell, text]) => new Promise(done => {
      const look = () => document.querySelector(cell).innerText === text
        ? done(Date.now()) : requestAnimationFrame(look);
      look();
    })"""
    with closing(ApiConnection(cluster.kubeconfig)) as api:
        for weight in range(100, 100 + CHANGES):
            sent = time.time()
            api.request("PATCH", f"{QUEUES}/department-0", {"spec": {"weight": weight}})
            found.append(page.evaluate(wait, [cell, str(weight)]) - sent * 1_000)
            time.sleep(0.2 + random.random() / 2)
    return sorted(found)


def main() -> None:
    """Write everything, then measure."""
    if not chromium():
        print("  no Chromium: run make browser")
        return
    with tempfile.TemporaryDirectory() as folder, MaarUp(Path(folder), alone=True) as cluster:
        write_all(cluster)
        with Console(Path(folder), cluster.kubeconfig) as console, running_browser() as browser:
            loads(browser, console, "", ".tree .window .row")  # the console has read the cluster then
            times, busy = loads(browser, console, "login?with=key", "#token")
            reference, reference_busy = median(times), median(busy)
            for name, address, row in (
                ("tree of 1,000 queues", "", ".tree .window .row"),
                ("table of 10,000 jobs", "#/jobs", ".jobs .window .row"),
            ):
                times, busy = loads(browser, console, address, row)
                line(f"{name}, first picture", median(times), reference, "under 1,000 ms")
                line("  fastest load", times[0], reference, "")
                line("  of it the page's own thread", median(busy), reference_busy, "")
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(console.address)
            page.locator(".tree .window .row").first.wait_for()
            seen = changes(page, cluster)
            line("a change of a queue, until it is drawn", median(seen), reference, "under 1,000 ms")
            line("the same, slowest", seen[-1], reference, "under 1,000 ms")
            page.evaluate("location.hash = '#/jobs'")
            page.locator(".jobs .window .row").first.wait_for()
            frame, longest = page.evaluate(_SCROLL)
            line("a frame while scrolling 10,000 jobs", frame, reference, "under 50 ms")
            line("the longest of these frames", longest, reference, "")


if __name__ == "__main__":
    main()
