"""Volume claims, resource claims and pods without a group, through the planner."""

from pathlib import Path
from typing import Any

import yaml

from maar.core.model.kinds import from_document, kind_of
from support.planning import plan

CLUSTER = yaml.safe_load_all((Path(__file__).parent / "claims.yaml").read_text(encoding="utf-8"))
OBJECTS = [from_document(kind, one) for one in CLUSTER if (kind := kind_of(one["apiVersion"], one["kind"]))]


def cycles(count: int, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (what plan takes)
    planned: Any = plan(OBJECTS, cycles=count, **options)["cycles"]
    return list(planned)


def test_a_bound_volume_keeps_its_pod_on_the_nodes_that_reach_it() -> None:
    assert cycles(1)[0]["binds"]["a/bound-0"] == "n2"


def test_a_claim_that_binds_on_first_consumer_gets_its_node_chosen_and_the_pod_binds_when_it_is_bound() -> (
    None
):
    first, second = cycles(2)
    chosen = first["selections"]["a/late"]
    assert "a/late-0" not in first["binds"]
    assert first["nominations"]["a/late-0"] == chosen
    assert first["podGroups"]["a/late"]["reason"] == "ClaimNotBound"
    assert second["binds"]["a/late-0"] == chosen
    assert second["selections"] == {}


def test_a_gang_with_one_such_claim_keeps_all_its_nodes_and_binds_together() -> None:
    first, second = cycles(2)
    assert not {"a/gang-0", "a/gang-1"} & first["binds"].keys()
    assert {"a/gang-0", "a/gang-1"} <= first["nominations"].keys()
    assert {"a/gang-0", "a/gang-1"} <= second["binds"].keys()


def test_other_unbound_claims_and_resource_claims_wait_with_a_reason() -> None:
    (only,) = cycles(1)
    waits = {key: (one["reason"], one["message"]) for key, one in only["podGroups"].items() if one["reason"]}
    assert waits["a/unbound"] == (
        "ClaimNotBound",
        "volume claim a/never is not bound; it starts when the claim is",
    )
    assert waits["a/missing"] == (
        "ClaimNotBound",
        "volume claim a/nowhere does not exist; create it",
    )
    assert waits["a/device"][0] == "ResourceClaim"


def test_claims_are_not_asked_where_volume_binding_is_switched_off() -> None:
    predicates = {"name": "predicates", "arguments": {"predicate.VolumeBindingEnable": False}}
    plugins = [{"name": name} for name in ("gang", "proportion", "drf")]
    (only,) = cycles(1, configuration={"tiers": [{"plugins": [*plugins, predicates]}]})
    assert {"a/late-0", "a/unbound-0", "a/missing-0"} <= only["binds"].keys()


def test_a_pod_whose_group_does_not_exist_is_reported_and_the_rest_is_planned() -> None:
    (only,) = cycles(1)
    assert only["podGroups"]["a/gone"]["reason"] == "PodGroupMissing"
    assert "there is no pod group a/gone for its pods; create it" in only["podGroups"]["a/gone"]["message"]
