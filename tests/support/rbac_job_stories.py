"""Stories of jobs that the controllers' permissions are for."""

from typing import Any, Final

from support.reduced_permissions import Holds, Stage, Story

Json = dict[str, Any]

JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
GROUPS: Final = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
PODS: Final = "/api/v1/namespaces/default/pods"
CLAIMS: Final = "/api/v1/namespaces/default/persistentvolumeclaims"
COMMANDS: Final = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
CORE: Final = "/api/v1/namespaces/default"
POLICIES: Final = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"


def _job(stage: Stage, name: str, **spec: Any) -> Json:  # noqa: ANN401  # fields of a job
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    tasks = [{"name": "w", "replicas": 1, "minAvailable": 1, "template": template}]
    given = {"schedulerName": "volcano", "minAvailable": 1, "tasks": tasks, **spec}
    return stage.make(JOBS, "Job", name, spec=given)


def _status(stage: Stage, name: str) -> Json:
    return dict(stage.get(f"{JOBS}/{name}").get("status", {}))


def _phase(stage: Stage, name: str) -> str:
    return str(_status(stage, name).get("state", {}).get("phase", ""))


def _admitted(stage: Stage, made: Json) -> None:
    """Let the group of a job in, as the scheduler does."""
    group = f"{GROUPS}/{made['metadata']['name']}-{made['metadata']['uid']}"
    stage.until("there is a group", lambda: bool(stage.get(group)))
    stage.must("PATCH", group, {"status": {"phase": "Inqueue"}})


def _order(stage: Stage, made: Json, action: str) -> None:
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    target = {"apiVersion": made["apiVersion"], "kind": "Job", "name": name, "uid": uid}
    stage.make(COMMANDS, "Command", f"{name}-{action.lower()}", action=action, target=target)


def a_job_says_its_phase(stage: Stage, name: str) -> Holds:
    _job(stage, name)
    return lambda: _phase(stage, name) == "Pending"


def a_job_has_pods(stage: Stage, name: str) -> Holds:
    _admitted(stage, _job(stage, name))
    return lambda: bool(stage.get(f"{PODS}/{name}-w-0"))


def a_job_that_is_suspended_has_none(stage: Stage, name: str) -> Holds:
    made = _job(stage, name)
    _admitted(stage, made)
    stage.until("it has a pod", lambda: bool(stage.get(f"{PODS}/{name}-w-0")))
    _order(stage, made, "AbortJob")
    return lambda: not stage.get(f"{PODS}/{name}-w-0") and _phase(stage, name) == "Aborted"


def a_job_goes_when_its_time_is_over(stage: Stage, name: str) -> Holds:
    _order(stage, _job(stage, name, ttlSecondsAfterFinished=0), "AbortJob")

    def is_going() -> bool:  # nobody here collects what it owns, which it waits for
        return "deletionTimestamp" in stage.get(f"{JOBS}/{name}").get("metadata", {"deletionTimestamp": ""})

    return is_going


def a_job_has_its_claim(stage: Stage, name: str) -> Holds:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    _job(stage, name, volumes=[{"mountPath": "/data", "volumeClaim": claim}])
    return lambda: any(
        one["metadata"]["name"].startswith(f"{name}-pvc-") for one in stage.get(CLAIMS)["items"]
    )


def plugins_have_their_objects(stage: Stage, name: str) -> Holds:
    _job(stage, name, plugins={"svc": [], "ssh": []})
    return lambda: all(stage.get(place) for place in _objects(name))


def objects_of_plugins_follow_the_job(stage: Stage, name: str) -> Holds:
    stage.until("they are there", plugins_have_their_objects(stage, name))
    stage.until("that is noted", lambda: _status(stage, name).get("pluginsGeneration") == 1)
    tasks = stage.get(f"{JOBS}/{name}")["spec"]["tasks"]
    stage.must("PATCH", f"{JOBS}/{name}", {"spec": {"tasks": [{**tasks[0], "replicas": 2}]}})
    return lambda: _status(stage, name).get("pluginsGeneration") == 2


def objects_of_plugins_go_at_the_end(stage: Stage, name: str) -> Holds:
    stage.until("they are there", plugins_have_their_objects(stage, name))
    stage.until("that is noted", lambda: _status(stage, name).get("pluginsGeneration") == 1)
    _order(stage, stage.get(f"{JOBS}/{name}"), "AbortJob")
    return lambda: not any(stage.get(place) for place in _objects(name))


def _objects(name: str) -> tuple[str, ...]:
    return (
        f"{CORE}/services/{name}",
        f"{CORE}/configmaps/{name}-svc",
        f"{CORE}/secrets/{name}-ssh",
        f"{POLICIES}/{name}",
    )


_NETWORK: Final = "networkpolicies.networking.k8s.io"
JOB_STORIES: Final[dict[str, Story]] = {
    "patch jobs/status.batch.volcano.sh": a_job_says_its_phase,
    "delete jobs.batch.volcano.sh": a_job_goes_when_its_time_is_over,
    "create pods": a_job_has_pods,
    "delete pods": a_job_that_is_suspended_has_none,
    "create persistentvolumeclaims": a_job_has_its_claim,
    **{
        f"create {kind}": plugins_have_their_objects
        for kind in ("services", "configmaps", "secrets", _NETWORK)
    },
    **{
        f"get {kind}": objects_of_plugins_follow_the_job
        for kind in ("services", "configmaps", "secrets", _NETWORK)
    },
    **{f"patch {kind}": objects_of_plugins_follow_the_job for kind in ("configmaps", "secrets")},
    **{
        f"delete {kind}": objects_of_plugins_go_at_the_end
        for kind in ("services", "configmaps", "secrets", _NETWORK)
    },
}
