"""What is true of all formats: recognition, order, limits of memory, names, and broken files."""

import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import pytest

from maar.core.model import name_rules
from maar.core.traces import records
from maar.core.traces.lines import LONGEST_LINE, text_lines
from maar.core.traces.options import TraceOptions
from maar.core.traces.reading import FORMATS, RECORDING, TraceError, detect_format, read_trace
from maar.core.traces.records import SeenNames, job_name, kubernetes_name, pods_of
from support.trace_samples import FORMATS_OF, SAMPLES, sample, skipped


def swf(number: int | str, submitted: float, run_time: float = 10) -> str:
    """A line of a job with one processor."""
    return f"{number} {submitted} -1 {run_time} 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n"


# --- recognition


@pytest.mark.parametrize(("name", "expected"), FORMATS_OF.items())
def test_a_format_is_recognised_by_its_first_lines(name: str, expected: str) -> None:
    assert detect_format(sample(name)) == expected
    assert set(FORMATS_OF.values()) == set(FORMATS)


def test_a_recording_is_recognised() -> None:
    assert detect_format(['{"line":"Started","version":"1"}\n']) == RECORDING


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "the trace is empty"),
        (["\n", "  \n"], "the trace is empty"),
        (["\x1f\ufffd\x08\0\0\n"], "the trace is not text: unpack it"),
        (["one two three\n"], "the format of the trace is not known; name it: swf, helios"),
    ],
)
def test_a_file_that_is_no_trace_says_so(lines: list[str], sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        read_trace(lines)


def test_a_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TraceError, match="pbs is not a format of traces: choose one of swf"):
        read_trace([], "pbs")


@pytest.mark.parametrize("name", FORMATS_OF)
def test_a_file_with_a_header_only_has_no_jobs(name: str) -> None:
    header = ["[\n", "]\n"] if name.endswith("json") else [sample(name)[0]]
    trace = read_trace(header)
    assert not list(trace.jobs)
    assert trace.skips.read == trace.skips.jobs == 0


@pytest.mark.parametrize("wrong", [{"processors_per_pod": 0}, {"most_jobs": 0}, {"memory_per_processor": -1}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(TraceError, match="it must be"):
        TraceOptions(**wrong)  # type: ignore[arg-type]


# --- lines


@pytest.mark.parametrize("name", FORMATS_OF)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_file_reads_the_same_however_its_bytes_are_cut(name: str, size: int) -> None:
    data = (SAMPLES / name).read_bytes()
    chunks = (data[begin:end] for begin, end in pairwise([*range(0, len(data), size), len(data)]))
    cut, whole = read_trace(text_lines(chunks)), read_trace(sample(name))
    assert list(cut.jobs) == list(whole.jobs)
    assert cut.skips.sentences() == whole.skips.sentences()


def test_bytes_that_are_not_text_and_lines_of_megabytes_are_counted() -> None:
    good = [swf(1, 0).encode(), swf(2, 1).encode()]
    data = [good[0], b"\0\0\n", b"9" * 3_000_000, b" 9" * 1_000_000 + b"\n", b"\xff\xfe 1 1\n", good[1]]
    trace = read_trace(text_lines(data), "swf")
    assert [one.name for one in trace.jobs] == ["job-1", "job-2"]
    assert skipped(trace) == {"NOT_TEXT": (1, 2), "TOO_LONG": (1, 3), "BAD_FIELDS": (1, 4)}


def test_a_long_line_without_an_end_is_not_held() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"1,"
        for _ in range(200):
            yield b"x" * LONGEST_LINE

    tracemalloc.start()
    trace = read_trace(text_lines(chunks()), "swf")
    assert not list(trace.jobs)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * LONGEST_LINE
    assert skipped(trace) == {"TOO_LONG": (1, 1)}


def test_a_mark_of_the_byte_order_is_no_part_of_the_first_line() -> None:
    data = b"\xef\xbb\xbf" + (SAMPLES / "helios.csv").read_bytes()
    assert read_trace(text_lines([data])).format == "helios"
    assert len(list(read_trace(data.decode().splitlines(keepends=True)).jobs)) == 4
    assert read_trace(["\ufeff; MaxNodes: 3\n", swf(1, 0)], "swf").nodes == 3


# --- order


def test_jobs_are_sorted_among_those_that_are_held() -> None:
    lines = [swf(number, time) for number, time in enumerate([5, 3, 4, 1, 2, 0, 9, 8], start=1)]
    assert [one.time for one in read_trace(lines).jobs] == [0, 1, 2, 3, 4, 5, 8, 9]


def test_a_job_that_comes_long_after_its_time_is_counted() -> None:
    times = [*range(100, 130), 1, *range(130, 150)]
    lines = [swf(number, time) for number, time in enumerate(times, start=1)]
    trace = read_trace(lines, options=TraceOptions(window=10))
    assert [one.time for one in trace.jobs] == list(range(100, 150))
    assert skipped(trace) == {"OUT_OF_ORDER": (1, 31)}
    assert "sort the file" in trace.skips.sentences()[0]


def test_jobs_of_the_same_time_keep_their_order() -> None:
    lines = [swf(number, 7) for number in range(40, 0, -1)]
    names = [one.name for one in read_trace(lines, options=TraceOptions(window=10)).jobs]
    assert names == [f"job-{number}" for number in range(40, 0, -1)]


def test_jobs_come_before_the_file_has_been_read() -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for number in range(1, 100_000):
            read += 1
            yield swf(number, number)

    jobs = read_trace(lines(), options=TraceOptions(window=50)).jobs
    assert next(jobs).name == "job-1"
    assert read <= 300


def test_memory_does_not_grow_with_the_file() -> None:
    def peak(jobs: int) -> int:
        lines = (swf(number, number) for number in range(1, jobs))
        tracemalloc.start()
        trace = read_trace(lines, options=TraceOptions(window=100))
        assert sum(1 for _ in trace.jobs) == jobs - 1
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(10_000) < peak(1_000) + 100_000  # eleven bytes for each job more


# --- names and sizes


def test_names_are_such_as_kubernetes_allows() -> None:
    texts = ["1", "A_b", "..", "", "x" * 300, "\ufffd\0", "vc 6YE", "-1-", "ünder", "1" * 5000, "٣"]
    for name in [*map(job_name, texts), *(kubernetes_name(text, "queue") for text in texts)]:
        assert not name_rules.label(name), name
    assert job_name("x" * 300) != job_name("x" * 299 + "y")


def test_names_are_compared_and_the_oldest_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_BLOCKS", 4)
    names = SeenNames()
    assert names.add("job-7")
    assert names.add("job-8")
    assert names.add("job-07")
    assert not names.add("job-7")
    assert [names.add(f"job-{64 * number}") for number in range(1, 6)] == [True] * 5
    assert not names.add("job-7")  # of the blocks before the last ones
    assert not names.forgets
    assert [names.add(f"other-{64 * number}") for number in range(1, 12)] == [True] * 11
    assert names.forgets


def test_names_stay_different_when_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_BLOCKS", 4)
    lines = [swf(64 * (number % 20), number) for number in range(60)]
    names = [one.name for one in read_trace(lines).jobs]
    assert len(names) == len(set(names))
    assert len(names) > 20


@pytest.mark.parametrize(
    ("processors", "per_pod", "expected"),
    [(1, 8, (1, 1)), (8, 8, (1, 8)), (9, 8, (2, 5)), (20, 8, (3, 7)), (128, 1, (128, 1))],
)
def test_processors_become_equal_pods(processors: int, per_pod: int, expected: tuple[int, int]) -> None:
    assert pods_of(processors, per_pod) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (swf(1, 1e12), "OUT_OF_RANGE"),
        (swf(1, 0, 1e12), "OUT_OF_RANGE"),
        (swf(1, -5), "NO_SUBMISSION"),
        (swf(1, float("nan")), "BAD_NUMBER"),
        (swf(1, 0, float("inf")), "BAD_NUMBER"),
        (swf(1, 0).replace(" 1 -1 -1 1 ", " 1 -1 -1 99999999 "), "OUT_OF_RANGE"),
        (swf(1, 0).replace(" 1 -1 -1 1 ", " 1 -1 -1 " + "9" * 400 + " "), "BAD_NUMBER"),
        (swf(1, 0).replace("1 -1 -1 1 1", "1 -1 1e300 1 1"), "OUT_OF_RANGE"),
    ],
)
def test_numbers_that_no_job_has_are_counted(line: str, reason: str) -> None:
    trace = read_trace([line], "swf")
    assert not list(trace.jobs)
    assert skipped(trace) == {reason: (1, 1)}
