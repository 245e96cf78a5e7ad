"""The commands that pages give for a shell are run as they stand, on `maar up`, with the real kubectl."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from support.maar_up import MaarUp
from support.needs_kubernetes import needs_kubernetes
from support.page_commands import NOT_RUN, ON_MAAR_UP, ROOT, PageCommand, commands
from support.page_session import PageSession

JOBS: Final = ROOT / "examples" / "jobs"
QUEUE: Final = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
"""
FLAGS: Final = {"docs/job-commands.md": ("--local",)}  # where a job has output
WITHOUT_SCHEDULER: Final = ("docs/snapshots.md",)  # the page starts one


def of_page(page: str) -> list[PageCommand]:
    """What is run of a page."""
    left_out = tuple(NOT_RUN.get(page, ()))
    return [
        one
        for one in commands(ROOT / page)
        if one.language == "sh" and not (left_out and one.text.startswith(left_out))
    ]


def flags(page: str) -> tuple[str, ...]:
    """Those that the page itself gives to `maar up`, except for the folder, which is the test's."""
    named = [one.text for one in commands(ROOT / page) if one.text.startswith("maar up")]
    if not named:
        return FLAGS.get(page, ())
    return tuple(shlex.split(re.sub(r" --data \S+", "", named[0]), comments=True)[2:])


@pytest.mark.parametrize("page", ON_MAAR_UP)
def test_the_commands_of_a_page_work(page: str, tmp_path: Path) -> None:
    """In the order of the page: what is applied first is there for the next."""
    needs_kubernetes()
    listed = of_page(page)
    assert listed
    (tmp_path / "clone").mkdir()
    with MaarUp(tmp_path, *flags(page), alone=page in WITHOUT_SCHEDULER) as up:
        session = PageSession(tmp_path / "clone", up.kubeconfig, stdin=(JOBS / "cronjob.yaml").read_text())
        if page == "docs/job-commands.md":  # the page takes a file and a queue of the reader's
            (session.folder / "jobs.yaml").write_text((JOBS / "plain.yaml").read_text())
            up.kubectl("apply", "-f", "-", stdin=QUEUE)
        for command in listed:
            session.run(command)


def test_the_commands_for_those_who_move_work(tmp_path: Path) -> None:
    """They ask for closed queues, and take the finalizers from pods."""
    needs_kubernetes()
    page = ROOT / "docs" / "moving-from-volcano.md"
    closed, finalizers = [one for one in commands(page) if one.text.startswith("kubectl get ")]
    (tmp_path / "clone").mkdir()
    with MaarUp(tmp_path) as up:
        up.kubectl("apply", "-f", "-", stdin=QUEUE + "spec: {state: Closed}\n")
        up.kubectl("wait", "queue/research", "--for=jsonpath={.status.state}=Closed")
        up.kubectl("apply", "-f", str(JOBS / "plain.yaml"))
        running = "--for=jsonpath={.status.state.phase}=Running"
        up.kubectl("wait", "job.batch.volcano.sh/test-job", running)
        session = PageSession(tmp_path / "clone", up.kubeconfig)
        session.run(closed._replace(output="research\n"))
        session.run(finalizers)
        left = up.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.finalizers}").stdout
        assert not left


def test_the_past_of_a_queue_can_be_forgotten(tmp_path: Path) -> None:
    needs_kubernetes()
    (forget,) = [
        one for one in commands(ROOT / "docs" / "past-use.md") if one.text.startswith("kubectl patch ")
    ]
    (tmp_path / "clone").mkdir()
    with MaarUp(tmp_path) as up:
        PageSession(tmp_path / "clone", up.kubeconfig).run(
            forget._replace(text=forget.text.replace("NAME", "default"))
        )
        stored = up.kubectl("get", "queue", "default", "-o", "jsonpath={.status.history}").stdout
        assert "used" not in stored


@pytest.mark.parametrize(
    ("page", "folder"),
    [
        ("README.md", "~/.local/share/maar"),
        ("docs/laptop.md", "~/maar-laptop"),
        ("docs/shared-workstation.md", "~/maar-workstation"),
    ],
)
def test_each_page_has_a_data_folder_of_its_own(page: str, folder: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"^export KUBECONFIG=(\S+)/kubeconfig$", text, re.MULTILINE)
    assert named == [folder], page
    started = re.findall(r"^maar up (.*)$", text, re.MULTILINE)
    assert all((f"--data {folder}" in flags) != (page == "README.md") for flags in started), page
