"""A job whose group the scheduler has refused before the job has a status says so as any other does."""

from support.job_world import JobWorld, job


def test_an_event_says_why_a_job_waits_also_where_the_scheduler_was_faster() -> None:
    world = JobWorld()
    world.put(job([{"name": "w", "replicas": 1}]))
    world.round()
    group = world.group()
    assert group is not None
    assert "state" not in world.status()
    condition = {"type": "Unschedulable", "status": "True", "reason": "NoRoom", "message": "no room"}
    world.change(group, {"status": {"phase": "Pending", "conditions": [condition]}})
    world.settle()
    assert world.events == [("PodGroupPending", "PodGroup default:j unschedulable, reason: no room")]
    state = world.status()["state"]
    assert (state["phase"], state["reason"], state["message"]) == ("Pending", "NoRoom", "no room")
