"""Pods that jobs need to start are made before the surplus of any job."""

from support.job_world import JobWorld, job


def test_the_minimum_of_every_job_comes_before_surplus() -> None:
    world = JobWorld()
    for name in ("first", "second"):
        document = job([{"name": "w", "replicas": 4}], minAvailable=2)
        document["metadata"]["name"] = name
        world.put(document)
    world.settle()
    world.created.clear()
    for place in [place for place in world.objects if place[0] == "PodGroup"]:
        world.change(place, {"status": {"phase": "Inqueue"}})
    world.settle()
    numbers = [(key.split("-")[0].removeprefix("default/"), int(key[-1])) for key in world.created]
    assert numbers[:4] == [("first", 0), ("first", 1), ("second", 0), ("second", 1)]
    assert sorted(numbers[4:]) == [("first", 2), ("first", 3), ("second", 2), ("second", 3)]
