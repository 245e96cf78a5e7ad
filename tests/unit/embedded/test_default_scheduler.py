"""Pods that name no scheduler are placed by the one that runs; others keep theirs."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maar.embedded.admission import choose_scheduler
from maar.embedded.assembly import assemble
from maar.embedded.calls import Call, Caller
from maar.embedded.store import Store


@pytest.mark.parametrize(
    ("named", "chosen"),
    [({}, "ours"), ({"schedulerName": "default-scheduler"}, "ours"), ({"schedulerName": "other"}, "other")],
)
def test_the_scheduler_of_a_pod(tmp_path: Path, named: dict[str, str], chosen: str) -> None:
    store, call = Store(tmp_path), Call(caller=Caller("somebody"))
    cluster = assemble(store, admit=partial(choose_scheduler, name="ours"))
    made: Any = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **named}}
    pod: Any = cluster.create("pods", "default", made, call)
    assert pod["spec"]["schedulerName"] == chosen
    del pod["spec"]["schedulerName"]  # as in a manifest that names none
    if named.get("schedulerName") != "other":
        again: Any = cluster.replace("pods", "default", "p", pod, call=call)
        assert again["spec"]["schedulerName"] == chosen
    store.close()
