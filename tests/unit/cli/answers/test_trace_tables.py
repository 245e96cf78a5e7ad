"""Tables that belong to a trace: nodes of openb and Philly, GPUs of Helios' virtual clusters."""

import csv
import json
from pathlib import Path

import pytest

import maar
from support.commands import Run, run

__all__ = ["run"]  # a fixture

PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,\
scheduled_time
p-0,2000,4096,1,500,,LS,Succeeded,0,100,0
p-1,2000,4096,1,500,,LS,Succeeded,0,100,0
p-2,2000,4096,1,1000,V100,LS,Succeeded,0,100,0
"""
NODES = """sn,cpu_milli,memory_mib,gpu,model
node-1,8000,32768,1,T4
node-2,8000,32768,1,V100
node-3,many,32768,1,V100
"""
MACHINES = "machineId, number of GPUs, single GPU mem\nm1,2,24GB\nm2,8,24GB\n"
VCS = "date,vcEwI,vcWoR,total\n2020-04-01,8,0,8\n2020-04-02,8,24,32\n"
LOG = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vcEwI,1,4,1,COMPLETED,2020-04-03 00:00:00,2020-04-03 00:00:00,2020-04-03 00:10:00,600,0
2,u2,vcWoR,1,4,1,COMPLETED,2020-04-03 00:00:00,2020-04-03 00:00:00,2020-04-03 00:10:00,600,0
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def waits(folder: Path) -> list[float]:
    with (folder / "default" / "jobs.csv").open(encoding="utf-8") as opened:
        return [float(one["wait_s"]) for one in csv.DictReader(opened)]


@pytest.mark.parametrize(("shared", "waiting"), [("whole", 1), ("thousandths", 0)])
def test_openb_has_nodes_of_its_own_and_gpus_that_are_shared(
    run: Run, tmp_path: Path, shared: str, waiting: int
) -> None:
    pods, nodes = written(tmp_path, "pods.csv", PODS), written(tmp_path, "nodes.csv", NODES)
    out = tmp_path / "out"
    ended = run(
        "maar", "simulate", "--trace", pods, "--nodes", nodes, "--shared-gpus", shared, "--out", str(out)
    )
    assert ended.code == 0, ended.err
    assert "nodes.csv: 1 skipped: a number in it cannot be read (first in line 4" in ended.err
    assert sum(one > 0 for one in waits(out)) == waiting  # two halves are on one GPU, or come in turn


def test_philly_has_machines_of_its_own(run: Run, tmp_path: Path) -> None:
    detail = [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]
    attempt = {"start_time": "2017-10-03 00:00:00", "end_time": "2017-10-03 01:00:00", "detail": detail}
    job = {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1",
        "attempts": [attempt],
        "submitted_time": "2017-10-03 00:00:00",
        "user": "3eb5c2",
    }
    log = written(tmp_path, "cluster_job_log", json.dumps([job]))
    machines = written(tmp_path, "cluster_machine_list", MACHINES)
    out = tmp_path / "out"
    ended = run("maar", "simulate", "--trace", log, "--nodes", machines, "--out", str(out))
    assert ended.code == 0, ended.err
    assert waits(out) == [0.0]


def test_gpus_of_virtual_clusters_become_weights(tmp_path: Path) -> None:
    log, gpus = written(tmp_path, "cluster_log.csv", LOG), written(tmp_path, "gpus.csv", VCS)
    result = maar.simulate(log, nodes="1x8cpu,32Gi,8nvidia.com/gpu", queues=gpus)
    assert not any("get weight 1" in note for note in result.notes)
    assert sorted(result["default"].jobs.queue) == ["vcewi", "vcwor"]


def test_a_table_without_a_row_that_can_be_read_is_refused(run: Run, tmp_path: Path) -> None:
    pods = written(tmp_path, "pods.csv", PODS)
    nodes = written(tmp_path, "nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,x,y,z,T4\n")
    ended = run("maar", "simulate", "--trace", pods, "--nodes", nodes, "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert f"{nodes}: there is no node in it" in ended.err
    gpus = written(tmp_path, "gpus.csv", "date,a,total\n2020-13-99,1,1\n")
    with pytest.raises(ValueError, match="there is no queue in it"):
        maar.simulate(pods, nodes="1x8cpu", queues=gpus)
