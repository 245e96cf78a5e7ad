"""Philly: a JSON list that is never held as a whole."""

import json
from itertools import pairwise

import pytest

from maar.core.model.resources import Resources
from maar.core.traces.json_objects import json_objects
from maar.core.traces.options import TraceOptions
from maar.core.traces.philly import read_philly_machines
from maar.core.traces.reading import read_trace
from maar.core.traces.skips import Skips
from support.trace_samples import jobs_of, sample, skipped

GPU = "nvidia.com/gpu"


def test_a_job_is_a_pod_for_each_machine_of_its_first_attempt_and_runs_for_all_of_them() -> None:
    jobs, trace = jobs_of("philly.json")
    assert trace.format == "philly"
    assert [(one.name, one.queue, one.pods, one.requests, one.run_time) for one in jobs] == [
        ("application-1500000000000-0005", "vc-0ff", 1, Resources({GPU: 1}), 10),
        ("application-1500000000000-0001", "red", 2, Resources({GPU: 3}), 90),  # 5 GPUs on 2 machines
    ]
    assert skipped(trace) == {"NO_RUN_TIME": (2, 24), "NO_SUBMISSION": (1, 29), "BAD_JSON": (1, 35)}
    assert trace.skips.read == 6


def test_users_may_be_queues() -> None:
    jobs, _ = jobs_of("philly.json", TraceOptions(queue_from="user"))
    assert {one.queue for one in jobs} == {"u-1", "u3"}


def test_machines_are_nodes_with_gpus() -> None:
    skips = Skips()
    nodes = list(read_philly_machines(sample("philly_machines.csv"), TraceOptions(), skips))
    assert [(one.metadata.name, one.status.allocatable[GPU]) for one in nodes] == [("m1", 8), ("m2", 2)]
    assert [(one.reason.name, one.line) for one in skips] == [("BAD_NUMBER", 4)]


OBJECTS = [
    {"a": 1},
    {},
    {"text": 'braces } { and quotes " and \\ and \u2028'},
    {"deep": {"er": [{"x": "}"}, {}]}},
    {"end": "\\"},
]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_objects_are_found_however_the_text_is_cut(size: int, indent: int | None) -> None:
    text = json.dumps(OBJECTS, indent=indent)
    skips = Skips()
    pieces = (text[begin:end] for begin, end in pairwise([*range(0, len(text), size), len(text)]))
    found = [json.loads(one.text) for one in json_objects(pieces, skips)]
    assert found == OBJECTS
    assert skips.read == len(OBJECTS)
    assert not list(skips)


def test_objects_may_be_one_in_each_line() -> None:
    lines = [json.dumps(one) + "\n" for one in OBJECTS]
    assert [one.line for one in json_objects(lines, Skips())] == [1, 2, 3, 4, 5]


def test_after_broken_text_the_next_whole_object_is_found() -> None:
    skips = Skips()
    text = '[{"a": "never closed\n}, what, {"b": 2}, {"c": ' + "9" * 50 + ', {"d": 4}]'
    pieces = (text[begin : begin + 10] for begin in range(0, len(text), 10))
    found = list(json_objects(pieces, skips, largest=40))
    assert [one.text for one in found] == ['{"a": "never closed\n}', '{"b": 2}', '{"d": 4}']
    reasons = {one.reason.name for one in skips}
    assert reasons == {"BAD_JSON", "TOO_LONG"}


def test_text_that_ends_in_an_object_is_counted() -> None:
    trace = read_trace(['[{"jobid": "a",'], "philly")
    assert not list(trace.jobs)
    assert trace.skips.sentences() == [
        "1 skipped: not a job: its JSON cannot be read (first in line 1: the text ends in the middle of it)"
    ]
