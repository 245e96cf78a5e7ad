"""A controller of jobs among stored objects, stopped and started at any moment."""

from datetime import UTC, datetime, timedelta
from typing import Final, cast

from hypothesis import strategies as st

from maar.core.controllers.cluster_view import ClusterController, ClusterView
from maar.core.controllers.work_queue import WorkQueue
from maar.core.model.events import AnyObject, Deleted, Upserted
from maar.core.model.kinds import from_document, kind_of
from maar.core.model.writes import Create, Delete, RecordEvent, SetStatus
from support.scenario_world import Json, merged, plain

START: Final = datetime(2026, 3, 29, 0, 0, 30, tzinfo=UTC)  # in Berlin, summer time begins an hour later
ENDS: Final = ("Completed", "Failed", "Terminated", "Aborted")
STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 1800)),
        st.tuples(st.just("round"), st.integers(0, 15)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("end"), st.integers(0, 30)),
        st.tuples(st.just("delete"), st.integers(0, 30)),
    ),
    max_size=40,
)


class Life:
    """Stored objects and a controller that may be stopped at any moment, also between two of its writes."""

    def __init__(self, controller: ClusterController, *documents: Json) -> None:
        self.now, self.controller = START, controller
        self.stored: dict[tuple[str, str], Json] = {}
        self.made: list[str] = []  # the names of all jobs, in the order in which they were made
        self.restart()
        for one in documents:
            self.put(one)

    def restart(self) -> None:
        """Start the controller anew: it knows nothing but what is stored."""
        self.work = WorkQueue(ClusterView(), (self.controller,))
        for document in self.stored.values():
            self.work.feed(self.work.cluster.changes([_upserted(document)]))

    def put(self, document: Json) -> None:
        """Store an object, new or changed."""
        metadata = document["metadata"]
        metadata.setdefault("namespace", "default")
        metadata.setdefault("uid", f"{document['kind']}-{metadata['name']}")
        metadata.setdefault("creationTimestamp", self.now.isoformat())
        self.stored[document["kind"], f"default/{metadata['name']}"] = document
        self.work.feed(self.work.cluster.changes([_upserted(document)]))

    def remove(self, kind: str, key: str) -> None:
        """Take an object away, if it is there."""
        if self.stored.pop((kind, key), None) is not None:
            self.work.feed(self.work.cluster.changes([Deleted(kind=kind, key=key)]))

    def round(self, done: int) -> int:
        """Carry out those writes of a round whose bits are set; lost ones were under way when it stopped."""
        writes = [one for _, one in self.work.reconcile(self.now) if not isinstance(one, RecordEvent)]
        carried_out = [write for place, write in enumerate(writes) if done >> place % 4 & 1]
        for write in carried_out:
            match write:
                case Create() if (write.kind, write.key) not in self.stored:
                    self.made.append(write.key.removeprefix("default/"))
                    self.put(cast(Json, plain(write.document)))
                case SetStatus():
                    old = self.stored[write.kind, write.key]
                    self.put(cast(Json, merged(old, {"status": plain(write.status)})))
                case Delete():
                    self.remove(write.kind, write.key)
                case _:
                    pass
        if len(writes) > len(carried_out):
            self.restart()
        return len(writes)

    def rest(self) -> None:
        """Let the controller work until it wants nothing more."""
        for _ in range(20):
            if not self.round(0b1111):
                return
        raise AssertionError("it does not come to rest")

    def jobs(self, *, unfinished: bool) -> list[str]:
        """The keys of all jobs that have ended, or of all others."""
        return [
            key
            for (kind, key), one in sorted(self.stored.items())
            if kind == "Job"
            and (one.get("status", {}).get("state", {}).get("phase") not in ENDS) == unfinished
        ]

    def end(self, key: str, phase: str) -> None:
        """Let a job end."""
        state = {"phase": phase, "lastTransitionTime": self.now.isoformat()}
        job = merged(self.stored["Job", key], {"status": {"state": state}})
        self.put(cast(Json, job))

    def happen(self, step: str, number: int) -> None:
        """Let one of the steps happen that are the same for every controller."""
        match step:
            case "wait":
                self.now += timedelta(seconds=number)
            case "round":
                self.round(number)
            case "restart":
                self.restart()
            case "rest":
                self.rest()
            case _:
                pass


def _upserted(document: Json) -> Upserted:
    kind = kind_of(document["apiVersion"], document["kind"])
    assert kind is not None
    return Upserted(object=cast(AnyObject, from_document(kind, document)))
