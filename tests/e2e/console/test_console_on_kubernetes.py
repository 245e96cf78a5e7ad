"""The same console over a real kube-apiserver, with each viewer's own rights."""

import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from support.api_connection import GROUPS, QUEUES, create, items
from support.browser import needs_browser, watched_page
from support.console_program import Console, small_organisation
from support.control_plane import ControlPlane
from support.load import CRDS
from support.load_daemons import Daemons
from support.needs_kubernetes import needs_kubernetes
from support.until import wait_until

RIGHTS: Final = """
apiVersion: v1
kind: Namespace
metadata: {name: mine}
---
apiVersion: v1
kind: Namespace
metadata: {name: secret}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: mine}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: viewer, namespace: mine}
rules:
- {apiGroups: [""], resources: [pods, events], verbs: [get, list, watch]}
- {apiGroups: [scheduling.volcano.sh], resources: [podgroups], verbs: [get, list, watch]}
- {apiGroups: [batch.volcano.sh], resources: [jobs], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: mine}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: viewer}
subjects: [{kind: ServiceAccount, name: viewer, namespace: mine}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: queue-viewer}
rules:
- {apiGroups: [scheduling.volcano.sh], resources: [queues], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: queue-viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: queue-viewer}
subjects: [{kind: ServiceAccount, name: viewer, namespace: mine}]
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: visible, namespace: mine}
spec: {minMember: 1, queue: default}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: concealed, namespace: secret}
spec: {minMember: 1, queue: default}
"""

# Whoever reads everything can ask what a change would do, and yet may not make it.
READER: Final = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane with Maar's daemons, queues, jobs that run and one that waits."""
    needs_browser()
    needs_kubernetes()
    folder = tmp_path_factory.mktemp("plane")
    with ControlPlane(folder, controllers=True) as running, Daemons(folder) as daemons:
        running.kubectl("apply", "-f", str(CRDS))
        running.kubectl("wait", "--for=condition=Established", "crd", "--all")
        running.kubectl("create", "namespace", "maar-system")
        running.make_nodes([f"n{number}" for number in range(4)])
        for part in ("scheduler", "controllers"):
            daemons.run(part, part, running.kubeconfig)
        for part in ("scheduler", "controllers"):
            wait_until(f"{part}: at work", partial(daemons.has_logged, part, "at work"))
        create(running, small_organisation())
        wait_until("jobs have their nodes", lambda: _phases(running).count("Running") == 3)
        yield running


@pytest.fixture(scope="module")
def console_on_plane(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console with the administrator's kubeconfig."""
    with Console(tmp_path_factory.mktemp("console"), plane.kubeconfig) as running:
        yield running


@pytest.fixture
def page(browser: Browser, console_on_plane: Console) -> Iterator[Page]:
    """The start page over the real cluster."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    with watched_page(context) as opened:
        opened.goto(console_on_plane.address)
        opened.locator(".tree .window .row").first.wait_for()
        yield opened
    context.close()


def test_the_main_path_on_a_real_kube_apiserver(page: Page, plane: ControlPlane) -> None:
    grid = page.get_by_role("treegrid", name="Queues")
    assert int(grid.get_attribute("aria-rowcount") or 0) == len(items(plane, QUEUES)) + 1
    nlp = grid.get_by_role("row").filter(has=page.get_by_role("link", name="nlp", exact=True))
    expect(nlp.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"CPU: uses 12 of"))
    plane.request("PATCH", f"{QUEUES}/nlp", {"spec": {"weight": 5}})
    expect(nlp.locator(".weight")).to_have_text("5")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()
    rows = page.locator(".jobs .window .row")
    expect(rows).to_have_count(4)
    shown = {row.get_attribute("data-key"): row.locator(".phase").inner_text() for row in rows.all()}
    assert shown == {f"default/{name}": phase for name, phase in _groups(plane).items()}
    page.get_by_role("link", name="large").click()
    expect(page.get_by_role("region", name="Why", exact=True).locator("pre")).to_contain_text("waits")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Nodes").click()
    expect(page.locator(".nodes .window .row")).to_have_count(4)
    page.evaluate("location.hash = '#/whatif?set=queue/vision.weight%3D9'")
    changed = page.locator("table.beside tr.changed", has=page.get_by_role("link", name="vision"))
    expect(changed).to_be_visible()


def test_a_lost_kube_apiserver_is_told_and_it_comes_back(page: Page, plane: ControlPlane) -> None:
    plane.stop_api_server(signal.SIGKILL)
    expect(page.locator("#banner")).to_contain_text("API server")
    plane.start_api_server()
    expect(page.locator("#banner")).to_be_hidden()
    plane.request("PATCH", f"{QUEUES}/serving", {"spec": {"weight": 6}})
    expect(page.locator(".tree .window .row[data-key=serving] > .weight")).to_have_text("6")


def test_who_has_rights_on_one_namespace_learns_nothing_of_others(
    browser: Browser, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plane.kubectl("apply", "-f", "-", stdin=RIGHTS)
    token = plane.kubectl("create", "token", "viewer", "--namespace", "mine").stdout.strip()
    folder, context = tmp_path_factory.mktemp("tokens"), browser.new_context()
    answers = list[bytes]()
    with Console(folder, plane.kubeconfig, "--login", "token") as console, watched_page(context) as page:
        page.on("requestfinished", lambda request: answers.append(_body(request.response())))
        page.goto(console.url)
        page.get_by_label("Bearer token").fill(token)
        page.get_by_label("Namespaces").fill("mine")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("treegrid", name="Queues")).to_be_visible()
        expect(page.locator("#rights")).to_contain_text("only in mine, and no nodes")
        page.evaluate("location.hash = '#/jobs'")
        expect(page.locator(".jobs .window .row .name")).to_have_text(["visible"])
        page.evaluate("location.hash = '#/nodes'")
        expect(page.get_by_role("heading", level=1)).to_have_text("Nodes")
        page.wait_for_timeout(1_000)
        seen = b"".join(answers)
        page.evaluate("location.hash = '#/job/podgroup/secret/concealed'")
        expect(page.get_by_role("main").get_by_role("alert").first).to_be_visible()
        page.wait_for_timeout(1_000)
    context.close()
    assert b'"visible"' in seen
    assert b"concealed" not in seen
    assert b'"secret"' not in seen
    assert not any(token.encode() in one for one in answers)


def test_who_may_not_change_queues_reads_the_refusal_and_nothing_changes(
    browser: Browser, plane: ControlPlane, tmp_path: Path
) -> None:
    plane.kubectl("apply", "-f", "-", stdin=READER)
    token = plane.kubectl("create", "token", "reader").stdout.strip()
    flags, context = ("--login", "token", "--allow-writes"), browser.new_context()
    before = items(plane, QUEUES)["vision"]["spec"]
    with Console(tmp_path, plane.kubeconfig, *flags) as console, watched_page(context) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(console.url)
        page.get_by_label("Bearer token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("treegrid", name="Queues")).to_be_visible()
        page.evaluate("location.hash = '#/whatif?set=queue/vision.weight%3D9'")
        expect(page.locator("table.beside tr.changed").first).to_be_visible()
        page.get_by_role("button", name="Apply").click()
        refusal = page.get_by_role("form", name="Changes").get_by_role("alert")
        expect(refusal).to_contain_text("the change of Queue vision would be refused")
        expect(refusal).to_contain_text('User "system:serviceaccount:default:reader" cannot patch')
        expect(refusal).to_contain_text("nothing was changed")
        expect(page.get_by_role("group", name="vision")).to_contain_text("now 1")
        # Rights may be given, and then it is tried again.
        expect(page.get_by_role("button", name="Apply")).to_be_enabled()
    context.close()
    assert items(plane, QUEUES)["vision"]["spec"] == before


def _body(response: object) -> bytes:
    try:
        return response.body()  # type: ignore[attr-defined,no-any-return]
    except Exception:  # noqa: BLE001  # a redirect or a stream has none
        return b""


def _groups(plane: ControlPlane) -> dict[str, str]:
    return {name: one["status"]["phase"] for name, one in items(plane, GROUPS).items()}


def _phases(plane: ControlPlane) -> list[str]:
    return [one.get("status", {}).get("phase", "") for one in items(plane, GROUPS).values()]
