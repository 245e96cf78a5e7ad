"""`maar flow`: make job flows, look at them and delete them; and the templates of their jobs."""

from typing import Final

import typer

from maar.cli.kind_commands import add_create, add_delete, add_list, add_view
from maar.cli.tables import ShownKind
from maar.core.model.job_flow import JobFlow, JobTemplate
from maar.core.views.flow_rows import (
    FLOW_HEADINGS,
    FLOW_WIDE,
    TEMPLATE_HEADINGS,
    TEMPLATE_WIDE,
    flow_cells,
    template_cells,
)

FLOWS: Final = ShownKind(JobFlow, "flow", FLOW_HEADINGS, FLOW_WIDE, flow_cells, "STATUS", "Running")
TEMPLATES: Final = ShownKind(
    JobTemplate, "template", TEMPLATE_HEADINGS, TEMPLATE_WIDE, template_cells, "QUEUE", "Deleted"
)

flow_app: Final = typer.Typer(help="Job flows: jobs that wait for one another.", no_args_is_help=True)

add_create(flow_app, (JobFlow, JobTemplate), "maar flow create", "Make flows and job templates from files.")
add_list(flow_app, FLOWS, "Show flows; the jobs are running/completed/failed/all.")
add_list(flow_app, TEMPLATES, "Show the templates that flows make jobs from.", name="templates")
add_view(flow_app, FLOWS, "Show a flow: which job waits for which, how far each is, and its events.")
add_delete(flow_app, FLOWS, "Delete flows, and with them their jobs.")
