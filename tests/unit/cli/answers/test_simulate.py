"""`maar simulate` as its users meet it: reports, the same bytes twice, bad input, Ctrl-C."""

import gzip
import json
import re
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import maar
from maar.cli.answers.simulation_progress import SimulationProgress
from maar.core.model.resources import Resources
from maar.core.simulation.jobs import TraceJob
from support.commands import Run, run
from support.golden import compare

__all__ = ["run"]  # a fixture

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples/simulate"
NODES = "2x8cpu,32Gi"
HEADER = "; Version: 2.2\n"


def swf(number: int, submitted: int, run_time: int, processors: int, *, status: int = 1) -> str:
    return (
        f"{number} {submitted} -1 {run_time} {processors} -1 -1 {processors} -1 -1 {status} 1 1 1 1 1 -1 -1\n"
    )


def small(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "jobs.swf"
    file.write_text(HEADER + "".join(lines or [swf(1, 0, 60, 4), swf(2, 10, 30, 8), swf(3, 10, 5, 16)]))
    return file


def files(folder: Path) -> dict[str, bytes]:
    found = [one for one in sorted(folder.rglob("*")) if one.is_file()]
    return {str(one.relative_to(folder)): one.read_bytes() for one in found}


def elements(page: str) -> ET.Element:
    """The page is well-formed XML too."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>"))  # noqa: S314  # it is our own


def test_a_generated_workload_gives_the_same_bytes_twice(run: Run, tmp_path: Path) -> None:
    asked = (
        "simulate", "--generate", "mixed", "--jobs", "40", "--seed", "3", "--nodes", NODES, "--config",
        "default", "--config", "fcfs", "--queues", str(EXAMPLE / "queues.yaml"),
    )  # fmt: skip
    first, second = (run("maar", *asked, "--out", str(tmp_path / name)) for name in ("a", "b"))
    assert first.code == second.code == 0, first.err
    assert first.out.replace(str(tmp_path / "a"), "") == second.out.replace(str(tmp_path / "b"), "")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert set(files(tmp_path / "a")) == {
        "report.html", "summary.json", "default/jobs.csv", "default/series.csv", "fcfs/jobs.csv",
        "fcfs/series.csv",
    }  # fmt: skip
    compare("simulate-summary.json", (tmp_path / "a/summary.json").read_text(encoding="utf-8"))
    compare("simulate-overview.txt", first.out.replace(str(tmp_path), ""))
    other = run("maar", *asked[:6], "4", *asked[7:], "--out", str(tmp_path / "c"))
    assert other.code == 0
    assert files(tmp_path / "c")["summary.json"] != files(tmp_path / "a")["summary.json"]


def test_the_help_names_every_option(run: Run) -> None:
    compare("help-maar-simulate.txt", run("maar", "simulate", "--help").out)


def test_the_page_needs_no_network_and_no_script(run: Run, tmp_path: Path) -> None:
    asked = ("--trace", str(small(tmp_path)), "--nodes", NODES, "--out", str(tmp_path / "out"))
    assert run("maar", "simulate", *asked).code == 0
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//\w|@import|url\(", page)
    root = elements(page)
    tags = {one.tag.lower() for one in root.iter()}
    assert not tags & {"script", "link", "img", "image", "use", "a", "iframe", "object", "foreignobject"}
    assert not {
        name for one in root.iter() for name in one.attrib if name in ("href", "src") or name[:2] == "on"
    }
    plots = list(root.iter("svg"))
    assert len(plots) >= 4
    named = set()
    for plot in plots:
        title, text = plot.find("title"), plot.find("desc")
        assert title is not None
        assert text is not None
        assert title.text
        assert text.text
        assert plot.get("aria-labelledby") == f"{title.get('id')} {text.get('id')}"
        named |= {title.get("id"), text.get("id")}
    assert len(named) == 2 * len(plots)


@pytest.mark.parametrize("queues", [1, 20])
def test_everything_drawn_is_inside_of_its_plot(run: Run, tmp_path: Path, queues: int) -> None:
    file = tmp_path / "queues.yaml"
    queue = (
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: quite-a-long-name-%d}}\n"
    )
    file.write_text("---\n".join(queue % index for index in range(queues)))
    asked = ("simulate", "--generate", "mixed", "--jobs", "60", "--nodes", NODES, "--load", "1.5")
    asked_of = (*asked, "--queues", str(file))
    assert run("maar", *asked_of, "--config", "default", "--config", "easy", "--out", str(tmp_path)).code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for plot in elements(page).iter("svg"):
        *_, width, height = map(float, (plot.get("viewBox") or "").split())
        for one in plot.iter():
            for point in (one.get("points") or "").split():
                x, y = map(float, point.split(","))
                assert 0 <= x <= width
                assert 0 <= y <= height
            assert 0 <= float(one.get("x") or 0) <= width
            if place := re.fullmatch(r"translate\((\S+) (\S+)\)", one.get("transform") or ""):
                text = one.find("text")
                assert text is not None
                assert float(place[1]) + 28 + 6 * len(text.text or "") <= width
                assert float(place[2]) <= height
            assert float(one.get("height") or 0) >= 0
            if one.get("class") == "end":  # a tick of the axis whose title is turned
                assert float(one.get("x") or 0) - 7.2 * len(one.text or "") > 20


def test_columns_of_jobs_are_what_became_of_them(run: Run, tmp_path: Path) -> None:
    file = small(tmp_path, swf(1, 0, 60, 16), swf(2, 10, 30, 8), swf(3, 10, 5, 8))
    asked = ("--trace", str(file), "--nodes", "1x16cpu,64Gi", "--processors-per-pod", "16")
    assert run("maar", "simulate", *asked, "--out", str(tmp_path / "out"), "--config", "fcfs").code == 0
    header, *rows = (tmp_path / "out/fcfs/jobs.csv").read_text(encoding="utf-8").splitlines()
    columns = header.split(",")
    waits = [dict(zip(columns, row.split(","), strict=True))["wait_s"] for row in rows]
    assert waits == ["0", "50", "50"]
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert summary["policies"]["fcfs"]["makespan"] == 90
    assert summary["policies"]["fcfs"]["wait"]["mean"] == pytest.approx(100 / 3)
    assert summary["policies"]["fcfs"]["utilisation"]["cpu"] == pytest.approx(
        (16 * 60 + 8 * 30 + 8 * 5) / (16 * 90)
    )


def test_utilisation_while_pods_waited_is_not_known_where_none_did(run: Run, tmp_path: Path) -> None:
    file = small(tmp_path, swf(1, 0, 60, 4))
    ended = run("maar", "simulate", "--trace", str(file), "--nodes", NODES, "--out", str(tmp_path / "out"))
    [line] = [one for one in ended.out.splitlines() if one.startswith("Utilisation while some pod waited")]
    assert line.split()[-1] == "-"
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert summary["policies"]["default"]["busyUtilisation"] == {"cpu": None, "memory": None}


def test_what_is_left_out_is_counted_with_its_reason(run: Run, tmp_path: Path) -> None:
    file = small(
        tmp_path,
        swf(1, 0, 60, 4),
        swf(2, 5, -1, 4),  # how long it ran is not known
        swf(3, 5, 60, -1),
        swf(4, 6, 60, 4, status=3),
        "5 not a record\n",
        swf(6, 9, 10, 1000),  # larger than the cluster
        swf(7, 10, -60, 2),
    )
    ended = run("maar", "simulate", "--trace", str(file), "--nodes", NODES, "--out", str(tmp_path / "out"))
    assert ended.code == 0
    assert "note: 5 of 7 records are not simulated:" in ended.err
    assert "note: 1 jobs are left out: larger than the cluster" in ended.err
    notes = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))["notes"]
    assert [f"note: {one}" for one in notes] == [
        line for line in ended.err.splitlines() if line[:5] == "note:"
    ]
    assert "larger than the cluster" in (tmp_path / "out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "jobs.swf: the trace is empty: name a file with jobs"),
        (b"\x00\x01\x02" * 100, "jobs.swf: the trace is not text: unpack it, or name another file"),
        (b"a,b,c\n1,2,3\n", "jobs.swf: the format of the trace is not known"),
        (b"job_id,user,state\n1,2,3\n", "jobs.swf: "),
        ((HEADER + swf(1, 0, 10, 999)).encode(), "there is no job to simulate"),
        ((HEADER + swf(1, 0, -1, 1)).encode(), "there is no job to simulate"),
    ],
    ids=["empty", "binary", "unknown", "missing columns", "all too large", "no run times"],
)  # fmt: skip
def test_a_trace_that_cannot_be_simulated_is_refused(
    run: Run, tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "jobs.swf"
    file.write_bytes(content)
    ended = run("maar", "simulate", "--trace", str(file), "--nodes", NODES, "--out", str(tmp_path / "out"))
    assert (ended.code, ended.out) == (1, "")
    assert f"error: {sentence}" in ended.err.replace(f"{tmp_path}/", "")
    assert files(tmp_path / "out") == {}


@pytest.mark.parametrize("damage", ["cut", "changed", "no gzip"])
def test_a_damaged_gzip_file_is_refused(run: Run, tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress((HEADER + "".join(swf(n, n, n, 1) for n in range(1, 400))).encode()))
    if damage == "changed":
        packed[60:120] = bytes(60)
    file = tmp_path / "jobs.swf.gz"
    file.write_bytes({"cut": bytes(packed[:-40]), "changed": bytes(packed), "no gzip": b"plain"}[damage])
    ended = run("maar", "simulate", "--trace", str(file), "--nodes", NODES, "--out", str(tmp_path / "out"))
    sentence = "cannot be read: it is not a whole gzip file; copy it again, or unpack it first"
    assert (ended.code, ended.out) == (1, "")
    assert f"error: {file}: {sentence}" in ended.err


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ((), 2, "give either --trace FILE or --generate lublin|mixed"),
        (("--generate", "mixed", "--trace", "x"), 2, "give either --trace FILE or --generate lublin|mixed"),
        (("--generate", "mixed"), 1, "there is no node: give --nodes, such as --nodes 4x8cpu,32Gi"),
        (("--generate", "mixed", "--nodes", "4y8"), 1, "--nodes '4y8': neither nodes of a size"),
        (("--generate", "mixed", "--nodes", NODES, "--config", "sjf"), 1, "--config sjf: neither a file"),
        (("--generate", "mixed", "--nodes", NODES, "--queues", "nowhere"), 1, "nowhere: "),
        (("--trace", "nowhere", "--nodes", NODES), 1, "nowhere: cannot be read"),
        (("--trace", "nowhere", "--nodes", NODES, "--format", "csv"), 1, "--format csv: not a format"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_says_what_to_write(
    run: Run, tmp_path: Path, options: tuple[str, ...], code: int, sentence: str
) -> None:
    ended = run("maar", "simulate", *options, "--out", str(tmp_path / "out"))
    assert ended.code == code
    assert sentence in ended.err


def test_a_folder_that_is_a_file_is_refused_before_anything_is_simulated(run: Run, tmp_path: Path) -> None:
    file = small(tmp_path)
    ended = run("maar", "simulate", "--trace", str(file), "--nodes", NODES, "--out", str(file))
    assert ended.code == 1
    assert f"--out {file}: cannot be made: file exists; name another folder" in ended.err


def test_nodes_of_several_kinds_have_gpus_that_generated_jobs_ask_for(run: Run, tmp_path: Path) -> None:
    asked = ("--generate", "mixed", "--jobs", "20", "--nodes", "2x8cpu,32Gi;1x32cpu,128Gi,4gpu,zone=gpu")
    assert run("maar", "simulate", *asked, "--out", str(tmp_path)).code == 0
    found = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["policies"]["default"]
    assert found["mainResource"] == "nvidia.com/gpu"
    assert 0 < found["utilisation"]["nvidia.com/gpu"] < 1
    assert found["ended"] == 20


def test_nodes_may_be_a_folder_of_manifests(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "nodes"
    folder.mkdir()
    node = (
        "{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: %d, memory: 8Gi}}}\n"
    )
    (folder / "a.yaml").write_text(node % ("a", 4))
    (folder / "b.yaml").write_text(node % ("b", 12))
    asked = ("--trace", str(small(tmp_path)), "--nodes", str(folder), "--out", str(tmp_path / "out"))
    assert run("maar", "simulate", *asked).code == 0
    assert "Nodes: cpu 16, memory 16Gi." in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    (folder / "c.yaml").write_text("{kind: Queue}\n")
    ended = run("maar", "simulate", *asked)
    assert ended.code == 1
    assert "c.yaml, document 1: not a Node" in ended.err


def test_several_configurations_of_one_name_are_told_apart(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "default.yaml"
    config.write_text('actions: "enqueue, allocate, backfill"\n')
    asked = ("--trace", str(small(tmp_path)), "--nodes", NODES, "--out", str(tmp_path / "out"))
    assert run("maar", "simulate", *asked, "--config", "default", "--config", str(config)).code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert list(summary["policies"]) == ["default", "default-2"]


def test_configurations_whose_names_make_one_folder_get_two(run: Run, tmp_path: Path) -> None:
    configs = tmp_path / "my plan.yaml", tmp_path / "my-plan.yaml"
    for config in configs:
        config.write_text('actions: "enqueue, allocate, backfill"\n')
    asked = ("--trace", str(small(tmp_path)), "--nodes", NODES, "--out", str(tmp_path / "out"))
    given = [part for config in configs for part in ("--config", str(config))]
    assert run("maar", "simulate", *asked, *given).code == 0
    assert {"my-plan/jobs.csv", "my-plan-2/jobs.csv"} <= files(tmp_path / "out").keys()


def test_names_from_a_trace_are_text_in_the_page(run: Run, tmp_path: Path) -> None:
    queues = tmp_path / "queues.yaml"
    queues.write_text(
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: '<script>a()</script>'}}\n"
    )
    asked = ("--generate", "lublin", "--jobs", "5", "--nodes", NODES, "--queues", str(queues))
    ended = run("maar", "simulate", *asked, "--out", str(tmp_path / "out"))
    assert ended.code == 0, ended.err
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_without_a_terminal_progress_is_a_line_after_every_thousand_jobs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: pytest.fail("the lines are the same on every machine"))
    with SimulationProgress() as progress:
        for name, jobs in (("easy", 2500), ("fcfs", None)):
            progress.begins(name, jobs)
            for ended in (1, 999, 1002, 1003, 1999):
                progress.is_at(ended)
    lines = "easy: 1,002 of 2,500 jobs have ended", "fcfs: 1,002 jobs have ended"
    assert capsys.readouterr().err.splitlines() == [*lines]


def test_python_has_the_same_in_columns(tmp_path: Path) -> None:
    jobs = [
        TraceJob(f"j{index}", 10.0 * index, "n", "q", 1, Resources({"cpu": 8000}), 60.0, None)
        for index in range(4)
    ]
    found = maar.simulate(jobs, nodes=NODES, config=["fcfs", {"actions": "enqueue, allocate"}])
    assert list(found) == ["fcfs", "configuration"]
    assert found["fcfs"].jobs.wait.tolist() == [0.0, 0.0, 40.0, 40.0]
    assert isinstance(found["fcfs"].series.used, np.ndarray)
    assert found.notes == ("queues that jobs name and --queues does not have get weight 1: q",)
    assert repr(found) == "<Simulated: 4 jobs under fcfs, configuration>"
    assert found._repr_html_().startswith("<pre>")
    found.write(tmp_path / "out")
    assert (tmp_path / "out/report.html").exists()
    with pytest.raises(KeyError):
        found["easy"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "give either a trace, or generate"),
        ({"trace": "nowhere", "nodes": NODES}, "nowhere: cannot be read"),
        ({"generate": "mixed"}, "there is no node"),
        ({"generate": "mixed", "nodes": NODES, "config": {"actions": "alocate"}}, "unknown action 'alocate'"),
    ],
)  # fmt: skip
def test_python_says_what_is_wrong(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(maar.SimulationError, match=sentence):
        maar.simulate(**given)  # type: ignore[arg-type]
