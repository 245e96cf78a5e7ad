"""Amounts on the command line, and the changes to a queue that they mean."""

import pytest
import typer

from maar.cli.queue.amounts import amounts, changed_amounts, changed_parts, guarantee, parts
from maar.cli.queue.changes import difference, document_of
from maar.cli.queue.flags import QueueChanges, QueueFlags


def test_amounts_are_pairs_with_commas_between_them() -> None:
    assert amounts("cpu=4, memory=8Gi,nvidia.com/gpu=1,") == {
        "cpu": "4",
        "memory": "8Gi",
        "nvidia.com/gpu": "1",
    }


def test_parts_of_the_total_are_percentages_of_a_guarantee() -> None:
    assert guarantee(parts("cpu=12.5%,memory=8Gi")) == {
        "resource": {"cpu": None, "memory": "8Gi"},
        "percentage": {"cpu": "12.5", "memory": None},
    }


def test_a_minus_takes_an_amount_away() -> None:
    assert changed_amounts("cpu-,memory=1Gi") == {"cpu": None, "memory": "1Gi"}
    assert guarantee(changed_parts("cpu-")) == {"resource": {"cpu": None}, "percentage": {"cpu": None}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no amount is given; write cpu=4,memory=8Gi"),
        (" , ", "no amount is given; write cpu=4,memory=8Gi"),
        ("4", "'4' is no amount; write cpu=4,memory=8Gi"),
        ("cpu=", "'cpu=' is no amount; write cpu=4,memory=8Gi"),
        ("cpu-", "'cpu-' is no amount; write cpu=4,memory=8Gi"),
        ("=4", "'=4' has no resource before it; write cpu=4,memory=8Gi"),
        ("cpu=4,cpu=5", "'cpu=5' is there twice; write cpu=4,memory=8Gi"),
        ("cpu=2c", "cpu: '2c' is not a quantity"),
        ("cpu=-1", "cpu: '-1' is negative"),
        ("nvidia.com/gpu=500m", "nvidia.com/gpu: '500m' is not whole"),
        ("cpu=20%", "cpu=20%: only a guarantee can be a part of the total; write an amount"),
    ],
)
def test_what_is_no_amount_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        amounts(text)
    assert refused.value.message.startswith(sentence)


def test_a_part_is_of_a_hundred() -> None:
    with pytest.raises(typer.BadParameter) as refused:
        parts("cpu=120%")
    assert refused.value.message.startswith("cpu: '120' is not a percentage")


def test_a_new_queue_has_the_fields_that_were_given_and_no_others() -> None:
    spec = QueueFlags(weight=2, state=None, reclaimable="false", guarantee=parts("cpu=20%")).spec()
    assert document_of("q", spec) == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"weight": 2, "reclaimable": False, "guarantee": {"percentage": {"cpu": "20"}}},
    }


def test_a_soft_guarantee_is_set_changed_and_taken_away() -> None:
    assert QueueFlags(deserved=amounts("cpu=4")).spec() == {"deserved": {"cpu": "4"}}
    change = QueueChanges(deserved=changed_amounts("cpu=5,memory-")).spec()
    there: dict[str, object] = {"deserved": {"cpu": "4", "memory": "8Gi"}}
    assert difference(there, change) == {"deserved": {"cpu": "5", "memory": None}}


def test_minimum_run_times_are_set_and_an_empty_one_is_taken_away() -> None:
    flags = QueueFlags(preempt_min_runtime="10m", reclaim_min_runtime="")
    assert flags.spec() == {"preemptMinRuntime": "10m", "reclaimMinRuntime": None}
    assert document_of("q", flags.spec())["spec"] == {"preemptMinRuntime": "10m"}
    assert difference({"reclaimMinRuntime": "1h"}, QueueFlags(reclaim_min_runtime="").spec()) == {
        "reclaimMinRuntime": None
    }
    assert difference({}, QueueFlags(reclaim_min_runtime="").spec()) == {}


def test_a_change_names_only_what_is_different() -> None:
    there: dict[str, object] = {
        "weight": 2,
        "capability": {"cpu": "4", "memory": "8Gi"},
        "guarantee": {"resource": {"cpu": "1"}},
    }
    assert difference(there, QueueFlags(weight=2, capability=changed_amounts("cpu=4,gpu-")).spec()) == {}
    wanted = QueueFlags(
        weight=3, capability=changed_amounts("memory-"), guarantee=changed_parts("cpu=20%")
    ).spec()
    assert difference(there, wanted) == {
        "weight": 3,
        "capability": {"memory": None},
        "guarantee": {"resource": {"cpu": None}, "percentage": {"cpu": "20"}},
    }
