"""Batch jobs whose pods meet any ending, under a controller that is started anew at any moment.

Counters equal what happened to pods, no pod is made too many, and a job ends as its counters say.
The cluster is the embedded one; what happened is written down by the test, pod by pod.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from maar.embedded.calls import Deletion
from properties.how_many import cases
from support.embedded import EmbeddedCluster, opened

JOBS: Final = "jobs.batch"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
TRACKING: Final = "batch.kubernetes.io/job-tracking"
TEMPLATE: Final = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
ENDINGS: Final = ("succeed", "fail", "delete", "bind")
LONG_S: Final = 400.0  # longer than any wait before a retry
MOST_ROUNDS: Final = 20

Pod = dict[str, Any]
steps = st.lists(
    st.tuples(
        st.sampled_from([*ENDINGS, *ENDINGS, "stop", "suspend", "resume", "wait", "grow"]),
        st.integers(0, 3),
        st.sampled_from(["settle", "settle", "turn", "restart", "nothing"]),
    ),
    max_size=12,
)


class Story:
    """A job, and what has happened to its pods."""

    def __init__(self, embedded: EmbeddedCluster, spec: dict[str, Any]) -> None:
        self.embedded, self.spec = embedded, {**spec, "template": TEMPLATE}
        self.endings: dict[str, str] = {}  # of pods that ended while they counted
        self.indexes: dict[str, str] = {}
        embedded.settle()
        embedded.make(JOBS, "j", spec=self.spec)

    def job(self) -> dict[str, Any]:
        """The job as it is stored."""
        return self.embedded.get(JOBS, "j")

    def pods(self) -> list[Pod]:
        """All pods."""
        return [self.embedded.get("pods", name) for name in sorted(self.embedded.names("pods"))]

    def active(self) -> list[Pod]:
        """Pods that something can still happen to."""
        return [
            one
            for one in self.pods()
            if one["status"]["phase"] == "Pending" and "deletionTimestamp" not in one["metadata"]
        ]

    def ended(self) -> str:
        """How the job ended; nothing while it goes on."""
        found = self.job().get("status", {}).get("conditions", ())
        return next((one["type"] for one in found if one["type"] in ("Complete", "Failed")), "")

    def act(self, what: str, which: int) -> None:
        """Let something happen; to a pod, where there is one that it can happen to."""
        if what in ENDINGS:
            active = self.active()
            if active:
                self._meet(what, active[which % len(active)])
        elif what == "stop":
            self.stop_deleted()
        elif what == "wait":
            self.embedded.clock.now += LONG_S * which
        elif what == "grow":
            self.embedded.edit(JOBS, "j", spec={"parallelism": which})
        else:
            self.embedded.edit(JOBS, "j", spec={"suspend": what == "suspend"})

    def _meet(self, what: str, pod: Pod) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if what == "bind":
            self.embedded.cluster.rewrite(
                "pods", "default", name, lambda value: {**value, "spec": {**pod["spec"], "nodeName": "n"}}
            )
            return
        self.endings[uid] = "Succeeded" if what == "succeed" else "Failed"
        self.indexes[uid] = pod["metadata"].get("annotations", {}).get(INDEX, "")
        if what == "delete":
            self.embedded.cluster.delete("pods", "default", name)
        else:
            self.embedded.edit("pods", name, "status", status={"phase": self.endings[uid]})

    def stop_deleted(self) -> None:
        """Do what nodes do with pods that are deleted."""
        for pod in self.pods():
            if "deletionTimestamp" in pod["metadata"] and pod["metadata"].get("deletionGracePeriodSeconds"):
                if pod["status"]["phase"] == "Pending":
                    self.embedded.edit("pods", pod["metadata"]["name"], "status", status={"phase": "Failed"})
                self.embedded.cluster.delete("pods", "default", pod["metadata"]["name"], Deletion(grace=0))

    def go_on(self, how: str) -> None:
        """Let the controllers work until nothing is left to do, for a moment, or as new ones."""
        if how == "turn":
            self.embedded.rounds.turn()
        elif how != "nothing":
            self.embedded.settle(restart=how == "restart")

    def check(self) -> None:
        """Hold the settled cluster against what has happened."""
        spec, status = self.job()["spec"], self.job()["status"]
        failed = sum(ending == "Failed" for ending in self.endings.values())
        won = [uid for uid, ending in self.endings.items() if ending == "Succeeded"]
        succeeded = len({self.indexes[uid] for uid in won} if spec["completionMode"] == "Indexed" else won)
        active, ended = self.active(), self.ended()
        assert status.get("succeeded", 0) == succeeded
        assert status.get("active", 0) == len(active)
        assert not any(TRACKING in one["metadata"].get("finalizers", ()) for one in self.pods() if ended)
        if ended or status["terminating"]:
            assert not ended or not active
            assert ended != "Complete" or succeeded >= spec["completions"]
            assert ended != "Failed" or failed > spec["backoffLimit"]
            return
        assert status.get("failed", 0) == failed <= spec["backoffLimit"]
        assert succeeded < spec["completions"]
        assert len(active) <= min(spec["parallelism"], spec["completions"] - succeeded)
        assert not (active and spec["suspend"])
        used = [one["metadata"].get("annotations", {}).get(INDEX) for one in active]
        assert spec["completionMode"] != "Indexed" or len(set(used)) == len(used)


@settings(max_examples=cases(40))
@given(
    parallelism=st.integers(1, 3),
    completions=st.integers(1, 4),
    mode=st.sampled_from(["NonIndexed", "Indexed"]),
    limit=st.integers(0, 3),
    happening=steps,
)
def test_counters_equal_the_pods_and_every_job_ends(
    parallelism: int, completions: int, mode: str, limit: int, happening: list[tuple[str, int, str]]
) -> None:
    spec = {
        "parallelism": parallelism,
        "completions": completions,
        "completionMode": mode,
        "backoffLimit": limit,
    }
    with TemporaryDirectory() as folder, opened(Path(folder)) as embedded:
        story = Story(embedded, spec)
        for what, which, how in happening:
            story.act(what, which)
            story.go_on(how)
            if how in ("settle", "restart"):
                story.check()
        embedded.edit(JOBS, "j", spec={"suspend": False, "parallelism": 2})
        for _ in range(MOST_ROUNDS):
            embedded.clock.now += LONG_S
            story.stop_deleted()
            embedded.settle(restart=True)
            story.check()
            if story.ended():
                break
            story.act("succeed", 0)
        assert story.ended()
        before = story.job()["status"]
        embedded.clock.now += LONG_S
        embedded.settle(restart=True)
        assert story.job()["status"] == before
