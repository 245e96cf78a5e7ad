"""What watches report reads as a sentence: `maar up` and the daemons log it as it is."""

from maar.kube.watch import BadObject, Interruption


def test_reports_of_watches_are_sentences() -> None:
    interrupted = Interruption(kind="Pod", problem="the server closed the connection")
    assert str(interrupted) == (
        "the watch of kind Pod was interrupted and is retried: the server closed the connection"
    )
    bad = BadObject(kind="Queue", key="a", problem="spec.weight: expected an integer")
    assert str(bad) == (
        "Queue a cannot be read and is ignored until it changes: spec.weight: expected an integer"
    )
