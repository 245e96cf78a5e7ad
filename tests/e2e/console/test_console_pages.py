"""Through the whole console with a real browser: what each page shows, addresses, and the keyboard."""

import re

from playwright.sync_api import Page, expect

from support.api_connection import QUEUES, ApiConnection, items


def goto(page: Page, address: str) -> None:
    """Go to a page of the console as a link would."""
    page.evaluate("address => { location.hash = address; }", address)


def test_the_tree_has_every_queue_below_its_parent_and_says_what_it_uses(
    page: Page, api: ApiConnection
) -> None:
    page.get_by_role("button", name="Open all").click()
    grid = page.get_by_role("treegrid", name="Queues")
    assert int(grid.get_attribute("aria-rowcount") or 0) == len(items(api, QUEUES)) + 1
    nlp = grid.get_by_role("row").filter(has=page.get_by_role("link", name="nlp", exact=True))
    expect(nlp).to_have_attribute("aria-level", "3")
    expect(nlp.locator(".weight")).to_have_text("2")
    expect(nlp.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"CPU: uses 12 of"))
    serving = grid.get_by_role("row").filter(has=page.get_by_role("link", name="serving", exact=True))
    expect(serving.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"ceiling 16"))
    expect(page.get_by_role("list", name="What the bars show")).to_contain_text("on loan")


def test_a_tree_is_folded_filtered_and_walked_with_the_keyboard_alone(page: Page) -> None:
    page.get_by_role("button", name="Open all").click()
    grid = page.get_by_role("treegrid", name="Queues")
    grid.focus()
    page.keyboard.press("Home")
    active = page.locator(".tree .row[aria-selected=true]")
    expect(active.locator("a")).to_have_text("root")
    page.keyboard.press("End")
    expect(active.locator("a")).to_have_text("team-40")
    page.keyboard.press("ArrowLeft")
    expect(active.locator("a")).to_have_text("teams")
    page.keyboard.press("ArrowLeft")
    expect(active).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("link", name="team-40")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(active.locator("a")).to_have_text("team-1")
    assert grid.get_attribute("aria-activedescendant") == active.get_attribute("id")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("team-1")
    page.go_back()
    page.get_by_label("Queues named").fill("visi")
    expect(page.locator(".tree .window .row a")).to_have_text(["root", "research", "vision"])
    assert page.url.endswith("#/?filter=visi")


def test_the_first_tab_is_a_link_to_the_content(page: Page) -> None:
    page.reload()
    page.locator(".tree .window .row").first.wait_for()
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_a_queue_says_why_it_deserves_what_and_what_is_in_it(page: Page) -> None:
    goto(page, "#/queue/research")
    expect(page.get_by_role("heading", level=1)).to_have_text("research")
    expect(page.get_by_role("region", name="Why it deserves this").locator("pre")).to_contain_text("research")
    expect(page.get_by_role("region", name="Why it deserves this").locator("svg").first).to_be_visible()
    below = page.get_by_role("region", name="Queues below")
    expect(below.get_by_role("link")).to_have_text(["nlp", "vision"])
    jobs = page.get_by_role("grid", name="Jobs in research")
    jobs.scroll_into_view_if_needed()  # rows beyond the screen are not drawn
    expect(jobs.locator(".window .row .name a")).to_have_text(["large", "train"])
    expect(page.locator("table.numbers").first).to_contain_text("CPU")
    page.get_by_role("link", name="All its jobs").click()
    assert page.url.endswith("#/jobs?queue=research")


def test_jobs_are_searched_filtered_and_sorted_in_the_address(page: Page) -> None:
    goto(page, "#/jobs?sort=name&phase=running")
    names = page.locator(".jobs .window .row .name a")
    expect(names).to_have_text(["crawl", "serve", "train"])
    page.get_by_role("columnheader", name="Job").get_by_role("button").click()
    expect(names).to_have_text(["train", "serve", "crawl"])
    assert "sort=-name" in page.url
    page.get_by_label("Phase").select_option("waiting")
    expect(names).to_have_text(["large"])
    expect(page.locator(".jobs .window .row .reason")).not_to_be_empty()
    page.get_by_label("Phase").select_option("")
    page.get_by_label("Queue and below").select_option("research")
    expect(names).to_have_text(["train", "large"])
    page.get_by_label("Search").fill("lar")
    expect(names).to_have_text(["large"])
    page.reload()
    expect(names).to_have_text(["large"])
    expect(page.get_by_label("Search")).to_have_value("lar")


def test_a_waiting_job_says_why_it_waits_and_what_would_start_it(page: Page) -> None:
    goto(page, "#/job/podgroup/default/large")
    expect(page.get_by_role("heading", level=1)).to_have_text("large")
    expect(page.get_by_role("region", name="Why", exact=True).locator("pre")).to_contain_text("waits")
    future = page.get_by_role("region", name="What would start it")
    expect(future.locator("pre")).to_contain_text("Planned start")
    expect(future.locator("pre")).not_to_contain_text("PRIORITY")  # what the first answer said already
    pods = page.get_by_role("region", name="Pods and their nodes")
    expect(pods.get_by_role("row")).to_have_count(21)
    waits = page.get_by_role("region", name="Events").locator("li", has_text="FailedScheduling")
    expect(waits.first).to_contain_text(re.compile(r"\d+ pods"))  # a line for many, not for each
    goto(page, "#/job/podgroup/default/train")
    expect(pods.get_by_role("row")).to_have_count(7)
    expect(pods.get_by_role("link").first).to_have_text(re.compile(r"node"))
    expect(page.get_by_role("region", name="Events").locator("svg.timeline")).to_be_visible()


def test_jobs_are_opened_with_the_keyboard(page: Page) -> None:
    goto(page, "#/jobs?sort=name")
    page.locator(".jobs .window .row").first.wait_for()
    page.get_by_role("grid", name="Jobs").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("large")


def test_nodes_say_how_full_they_are_and_what_would_fit(page: Page) -> None:
    goto(page, "#/nodes")
    rows = page.locator(".nodes .window .row")
    expect(rows).to_have_count(4)
    used = [float(one) for one in rows.locator(".used").all_inner_texts()]
    assert sum(used) == 24  # 6 x 2, 4 and 8 pods with one CPU each
    expect(page.locator(".legend")).to_contain_text("nlp")
    page.get_by_label("Would pods of this size fit?").fill("cpu=1,memory=1Gi")
    first = page.locator("section[aria-label='Free room'] tbody tr").first
    expect(first.locator("td.number").first).to_have_text("8")
    page.get_by_label("Would pods of this size fit?").fill("a lot")
    expect(page.get_by_text("Write a size as")).to_be_visible()


def test_a_what_if_shows_the_tree_as_it_would_be_and_changes_nothing(page: Page, api: ApiConnection) -> None:
    goto(page, "#/whatif?queue=vision")
    page.get_by_label("Weight of vision", exact=True).fill("9")
    answer = page.get_by_role("region", name="What would happen")
    changed = answer.locator("tr.changed", has=page.get_by_role("link", name="vision"))
    expect(changed).to_be_visible()
    expect(answer.get_by_label("YAML", exact=True)).to_contain_text("weight: 9")
    assert "set=queue%2Fvision.weight%3D9" in page.url
    page.reload()
    expect(page.get_by_label("Weight of vision", exact=True)).to_have_value("9")
    page.get_by_label("Nodes added").fill("2x32cpu,64Gi")
    expect(answer.get_by_role("region", name="Jobs that change")).to_contain_text("large")
    page.get_by_label("Nodes taken away").fill("node-1")
    gone = answer.get_by_role("region", name="Evictions").locator("tbody td:last-child")
    expect(gone.filter(has_text="drain").first).to_be_visible()
    page.get_by_label("Nodes added").fill("many")
    expect(answer.get_by_role("alert")).to_be_visible()
    assert items(api, QUEUES)["vision"]["spec"].get("weight", 1) == 1


def test_the_history_is_of_the_queue_and_the_hours_in_the_address(page: Page) -> None:
    goto(page, "#/history?queue=research&hours=1")
    expect(page.get_by_label("Queue", exact=True)).to_have_value("research")
    expect(page.locator("figure svg, .figures .quiet").first).to_be_visible()
    page.get_by_label("Over the last").select_option("3")
    assert "hours=3" in page.url


def test_a_theme_is_chosen_and_kept(page: Page) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    before = page.evaluate(background)
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(background) != before
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()


def test_an_address_without_a_page_says_so(page: Page) -> None:
    goto(page, "#/nothing")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    goto(page, "#/queue/nothing")
    expect(page.get_by_text("There is no queue nothing")).to_be_visible()
    expect(page.get_by_role("region", name="Jobs")).to_be_hidden()
    goto(page, "#/job/podgroup/default/nothing")
    expect(page.get_by_role("main").get_by_role("alert")).to_have_count(1)
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("there is no")
    expect(page.get_by_role("region", name="Events")).to_be_hidden()
