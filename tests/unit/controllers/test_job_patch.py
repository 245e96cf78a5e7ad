"""What a flow changes in a template: maps and named entries are merged, other lists replaced."""

import pytest

from maar.core.controllers.job_flows import merged


@pytest.mark.parametrize(
    ("old", "patch", "new"),
    [
        ({"a": 1, "b": {"c": 2}}, {"b": {"d": 3}}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"a": 1}, {"a": None}, {"a": 1}),
        ({"a": 1}, {"a": {"b": None, "c": 2}}, {"a": {"c": 2}}),
        ([{"name": "x", "v": 1}, {"name": "y"}], [{"name": "z"}, {"name": "x", "w": 2}],
         [{"name": "x", "v": 1, "w": 2}, {"name": "y"}, {"name": "z"}]),
        ([{"mountPath": "/a", "v": 1}], [{"mountPath": "/a", "v": 2}], [{"mountPath": "/a", "v": 2}]),
        ([{"event": "A"}], [{"event": "B"}], [{"event": "B"}]),
        ([{"name": "x"}, {"name": "x"}], [{"name": "x", "v": 1}], [{"name": "x", "v": 1}]),
        (["a", "b"], ["c"], ["c"]),
        ([], [{"name": "x"}], [{"name": "x"}]),
        ({"a": [1]}, {"a": "text"}, {"a": "text"}),
    ],
)  # fmt: skip
def test_a_patch_over_a_template(old: object, patch: object, new: object) -> None:
    before = repr(old)
    assert merged(old, patch) == new
    assert repr(old) == before
