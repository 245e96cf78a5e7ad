"""What a pod takes from a node: sums, the largest moment of starting, overhead, and the pod itself.

The figures are those of Kubernetes 1.36: the API server's defaults, then PodRequests of
component-helpers.
"""

from itertools import permutations

import pytest

from maar.core.model.kinds import from_document
from maar.core.model.pod import Pod
from maar.core.model.resources import Resources

Fields = dict[str, object]

MI = 2**20


def container(limits: object = None, **requests: object) -> Fields:
    return {"resources": {"requests": requests, "limits": limits or {}}}


def sidecar(**requests: object) -> Fields:
    """An init container that goes on running beside the containers."""
    return {**container(**requests), "restartPolicy": "Always"}


def request(*containers: Fields, init: tuple[Fields, ...] = (), **spec: object) -> dict[str, int]:
    """Give what a pod of these containers asks for."""
    fields = {"containers": list(containers), "initContainers": list(init), **spec}
    return dict(from_document(Pod, {"spec": fields}).request)


def test_containers_add_up_and_the_pod_counts_as_one() -> None:
    assert request(container(cpu="500m", memory="64Mi"), container(cpu=1, **{"nvidia.com/gpu": 2})) == {
        "cpu": 1500, "memory": 64 * MI, "nvidia.com/gpu": 2, "pods": 1,
    }  # fmt: skip


@pytest.mark.parametrize("containers", [(), ({},), (container(), container())])
def test_a_pod_that_asks_for_nothing_still_takes_the_place_of_one_pod(containers: tuple[Fields, ...]) -> None:
    assert request(*containers) == {"pods": 1}


def test_init_containers_run_one_after_another_so_only_the_largest_of_each_resource_counts() -> None:
    init = (container(cpu=2, memory="10Mi"), container(cpu=1, memory="300Mi"))
    assert request(container(cpu=1, memory="20Mi"), init=init) == {
        "cpu": 2000, "memory": 300 * MI, "pods": 1,
    }  # fmt: skip


def test_a_small_init_container_costs_nothing() -> None:
    assert request(container(cpu=2), init=(container(cpu=1),)) == {"cpu": 2000, "pods": 1}


def test_what_only_an_init_container_asks_for_is_asked_for() -> None:
    assert request(container(cpu=1), init=(container(**{"nvidia.com/gpu": 1}),)) == {
        "cpu": 1000, "nvidia.com/gpu": 1, "pods": 1,
    }  # fmt: skip


def test_a_restartable_init_container_runs_on_beside_the_containers() -> None:
    assert request(container(cpu=1), init=(sidecar(cpu="200m", memory="5Mi"),)) == {
        "cpu": 1200, "memory": 5 * MI, "pods": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("init", "cpu"),
    [
        ((sidecar(cpu=1), container(cpu=3)), 4000),  # the init container starts beside the sidecar
        ((container(cpu=3), sidecar(cpu=1)), 3000),  # the sidecar starts when the init container is gone
        ((sidecar(cpu=1), container(cpu=3), sidecar(cpu=2)), 4000),
        ((sidecar(cpu=1), sidecar(cpu=2), container(cpu=3)), 6000),
        ((container(cpu=3), sidecar(cpu=1), sidecar(cpu=2)), 4000),
        ((sidecar(cpu=3), container(cpu=1)), 4000),
    ],
)
def test_an_init_container_runs_beside_the_restartable_ones_before_it(
    init: tuple[Fields, ...], cpu: int
) -> None:
    assert request(container(cpu=1), init=init) == {"cpu": cpu, "pods": 1}


def test_the_largest_moment_counts_whatever_the_order_of_init_containers() -> None:
    starts = [(5, True), (700, False), (60, True), (900, False), (300, True)]
    for order in permutations(starts):
        moments = [
            sum(cpu for cpu, restarts in order[:index] if restarts) + order[index][0]
            for index in range(len(order))
        ]
        moments.append(400 + sum(cpu for cpu, restarts in order if restarts))
        init = tuple((sidecar if restarts else container)(cpu=f"{cpu}m") for cpu, restarts in order)
        assert request(container(cpu="400m"), init=init) == {"cpu": max(moments), "pods": 1}, order


@pytest.mark.parametrize("policy", ["", "Never", "OnFailure", "always"])
def test_only_a_restart_policy_of_always_makes_an_init_container_restartable(policy: str) -> None:
    init = ({**container(cpu=1), "restartPolicy": policy},)
    assert request(container(cpu=1), init=init) == {"cpu": 1000, "pods": 1}


def test_overhead_comes_on_top_of_the_larger_of_both() -> None:
    overhead = {"cpu": "250m", "memory": "100Mi"}
    assert request(container(cpu=1), overhead=overhead) == {"cpu": 1250, "memory": 100 * MI, "pods": 1}
    assert request(container(cpu=1), init=(container(cpu=3),), overhead=overhead) == {
        "cpu": 3250, "memory": 100 * MI, "pods": 1,
    }  # fmt: skip


def test_a_limit_without_a_request_is_a_request() -> None:
    main, init = container(limits={"cpu": 2, "memory": "1Mi"}, cpu=1), container(limits={"cpu": 5})
    assert request(main) == {"cpu": 1000, "memory": MI, "pods": 1}
    assert request(main, init=(init,)) == {"cpu": 5000, "memory": MI, "pods": 1}


def test_a_request_of_nothing_is_a_request_and_the_limit_does_not_count() -> None:
    assert request(container(limits={"cpu": 2}, cpu=0)) == {"cpu": 0, "pods": 1}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({"requests": {"cpu": 5}}, {"cpu": 5000, "memory": 64 * MI}),  # stands over the sum of the containers
        ({"requests": {"cpu": "100m"}}, {"cpu": 100, "memory": 64 * MI}),  # ... also where that is larger
        ({"requests": {"memory": "1Mi"}}, {"cpu": 2000, "memory": MI}),
        (
            {"limits": {"cpu": 9}},
            {"cpu": 2000, "memory": 64 * MI},
        ),  # the containers ask, so the limit does not
        ({"limits": {"cpu": 9}, "requests": {"cpu": 3}}, {"cpu": 3000, "memory": 64 * MI}),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, {"cpu": 2000, "memory": 64 * MI, "hugepages-2Mi": 4 * MI}),
        ({}, {"cpu": 2000, "memory": 64 * MI}),
        ({"requests": None, "limits": None}, {"cpu": 2000, "memory": 64 * MI}),
    ],
)
def test_requests_of_the_pod_as_a_whole_stand_over_those_of_its_containers(
    pod: Fields, expected: dict[str, int]
) -> None:
    containers = (container(cpu=1, memory="64Mi"), container(cpu=1))
    assert request(*containers, resources=pod) == {**expected, "pods": 1}


def test_requests_of_the_pod_as_a_whole_stand_over_its_init_containers_and_below_the_overhead() -> None:
    assert request(
        container(cpu=1),
        init=(container(cpu=8),),
        resources={"requests": {"cpu": 2}},
        overhead={"cpu": "50m"},
    ) == {"cpu": 2050, "pods": 1}


def test_amounts_are_rounded_up_and_odd_spellings_add_up() -> None:
    assert request(container(cpu="0.1m", memory="1e3"), container(cpu=0.25, memory="0.5")) == {
        "cpu": 251, "memory": 1001, "pods": 1,
    }  # fmt: skip


def test_asking_changes_nothing() -> None:
    pod = from_document(
        Pod,
        {
            "spec": {
                "containers": [container(cpu=1)],
                "initContainers": [sidecar(cpu=1)],
                "overhead": {"cpu": 1},
            }
        },
    )
    assert pod.request == pod.request == Resources({"cpu": 3000, "pods": 1})
    assert pod.spec.containers[0].resources.requests == Resources({"cpu": 1000})
    assert pod.spec.overhead == Resources({"cpu": 1000})
