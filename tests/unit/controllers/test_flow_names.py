"""A flow that is named twice makes one job, as in Volcano."""

from maar.core.controllers.job_flows import JobFlows
from maar.core.model.events import Upserted
from maar.core.model.job_flow import Flow, FlowDependsOn, JobFlow, JobFlowSpec, JobTemplate
from maar.core.model.metadata import Metadata
from maar.core.model.writes import Create
from support.controller_runs import Controlled


def test_one_job_is_made_for_a_name_that_comes_twice() -> None:
    flows = (Flow(name="a"), Flow(name="a"), Flow(name="b", depends_on=FlowDependsOn(targets=("a",))))
    flow = JobFlow(metadata=Metadata(name="f", namespace="n", uid="flow"), spec=JobFlowSpec(flows=flows))
    templates = [Upserted(object=JobTemplate(metadata=Metadata(name=one, namespace="n"))) for one in "ab"]
    controller = Controlled(JobFlows())
    controller.feed([Upserted(object=flow), *templates])
    assert [one.key for one in controller.reconcile() if isinstance(one, Create)] == ["n/f-a"]
