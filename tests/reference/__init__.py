"""The reference model: docs/specification as a slow, exact program to compare the engine's plans with.

The owner of Maar wrote it from the specification; it shares no code with the engine, and none may
be shared. Where a page says more than the model first did, the model follows the page: preempt
gives nothing away that is reserved, surplus leaves room for groups that were just let in, half
gangs make room for each other, a group that needs more than its queue may ever have does not count
at the gate, and evictions do not change since when a group is ready. It is no code to build on;
where it and a page differ, the page is right.

From the bottom to the top:

- `amounts`, `quantities`, `objects`, `topology`, `reading`, `configuration`: the snapshot, in plain
  values;
- `water_filling`: fair share, in exact fractions;
- `units`, `subgroups`: what gangs consist of and can lose;
- `state`, `entitlements`, `turn_order`, `placement`, `victims`, `turns`: the snapshot as it changes
  during a cycle, each a step on the one before: use and limits, the order, nodes, units of victims,
  allocate;
- `attempt`, `reclaim`, `preempt`, `gate`, `half_gangs`: evictions, and enqueue with those it may
  count on;
- `cycle`, `printed_plan`: the actions in their order, and what they decide as JSON.

Its command is `PYTHONPATH=tests python -m reference plan -f FILE -o json`.

What it does not have: rounding of shares (numbers are cut to milli-CPU and whole units when
printed); of filters more than resources, unschedulable nodes, nodeSelector and required
anti-affinity by `matchLabels` in one namespace; scores (a pod goes to the first node that fits);
budgets for disruptions, reasons but `VictimsProtectedUntil`, the quota manager, jobs, the plugins
`sla` and `usage`, planned starts. Phases show what was bound one cycle later. It has roles and
domains, which the engine does not have yet.

The search for victims is greedy in the order of the page, anywhere, and then on each node alone;
another lawful, minimal set is no error.
"""

from reference.amounts import Amounts, Tables
from reference.configuration import Configuration
from reference.cycle import Cycle
from reference.objects import Cluster, Node, Pod, PodGroup
from reference.printed_plan import plan, shown, shown_cycle
from reference.reading import read_cluster
from reference.state import Places
from reference.water_filling import Claim, Shares, fair_shares

__all__ = [
    "Amounts",
    "Claim",
    "Cluster",
    "Configuration",
    "Cycle",
    "Node",
    "Places",
    "Pod",
    "PodGroup",
    "Shares",
    "Tables",
    "fair_shares",
    "plan",
    "read_cluster",
    "shown",
    "shown_cycle",
]
