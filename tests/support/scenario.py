"""Scenarios: sentences with a few lines of data, read strictly from YAML.

What there is (what is written first is older; `age` says otherwise):
- `nodes`: {name: {cpu, memory, gpu, …, count, labels, taints, unschedulable, ready}}; `count`
  numbers them;
- `queues`: {name: {parent, weight, priority, guarantee, percentage, deserved (the soft guarantee),
  capability, request, reclaimable, state, fifo, preemptMinRuntime, reclaimMinRuntime, age,
  history}}, where `history` is its past use: hours by resource, `namespaces`: {name: hours} and
  `age`;
- `namespaces`: {name: {weight, queue}}, one quota for each weight;
- `running` and `pending` pod groups: {queue/name: {pods, min, cpu, …}}. Of a group: namespace,
  priority, class, min (1; `all`), readyWith (the `min` it was last ready with), minResources,
  tasks, preemptable, phase, unschedulable, admitted and holds (room; how long ago each began),
  annotations, age. Of its pods, or of those of a task: node, waiting, starting, started (how long
  ago, one time for all or one for each), runs (how long it is expected to), succeeded, failed,
  terminating, evictedFor, promised, never, gated, queueGate (Volcano's own scheduling gate), init,
  overhead, selector, affinity, tolerates, apart, near, spread, port, claims (the class of a volume
  that each claims; such are made, unless it is `local`); a task has its own min and preemptable;
- `others`: running pods of another scheduler; `budgets`: {name: {of: queue/name, allowed}};
  `volumes`: {name: {node}}, of the class `local`.

How it is asked: `now`, `cycles`, `resubmit`, and `config`: {actions, plugins: what is different
about them, `false` leaves one out, tiers: lists of names, configurations, raw}.

What must come of it: `refused` (parts of the message), or `expect` in the first cycle, `then` in
each one after it and `last` in the last of `cycles`:
- of queues: deserved, realCapability, used, allocated, preempting, share, state, binding,
  conditions, namespaces, factor (of its weight);
- `binds` and `nominated` by group: a number, a list of pods (queue/name-0), {pod: node} or {node:
  number};
- `evicted` by group: a number, a list of pods, or {pods, for, by};
- `holds` by group: the room that is held for it, {node: number of pods};
- `waits` by group: a reason, or a list of it and of parts of its message; `phases` by group;
  `quiet`. `binds`, `nominated`, `evicted` and `holds` are complete; what nobody expects to be
  evicted must stay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from support.cluster import Cluster
from support.expectations import Expectation, read_expectation
from support.fields import BadScenarioError, Fields

FOLDER: Final = Path(__file__).parents[1] / "scenarios"
RULES: Final = FOLDER / "rules.yaml"

_NOON: Final = "2026-01-01T12:00:00Z"
_TIERS: Final = (
    ("priority", "gang", "conformance"),
    ("overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"),
)


@dataclass(frozen=True)
class Rule:
    """A rule of the specification in one sentence, and the page and heading that define it."""

    id: str
    section: str
    place: str  # in docs/specification, such as terms.md#request
    sentence: str


@dataclass(frozen=True)
class Scenario:
    """A promise, the cluster that shows it, and what must come of it."""

    title: str
    file: str
    rules: tuple[str, ...]
    cluster: Cluster
    configuration: dict[str, object] | None
    cycles: int
    resubmit: bool
    refused: tuple[str, ...]
    expectations: dict[int, Expectation]  # by cycle, from 0

    @property
    def has_victims(self) -> bool:
        """Whether somebody is expected to be evicted."""
        return any(expectation.parts.get("evicted") for expectation in self.expectations.values())

    @property
    def now(self) -> datetime:
        """The time of the snapshot."""
        return self.cluster.now


def all_scenarios() -> list[Scenario]:
    """Every scenario of every file; titles are unique."""
    scenarios = [one for file in sorted(FOLDER.glob("*.yaml")) if file != RULES for one in load(file)]
    seen: dict[str, str] = {}
    for one in scenarios:
        if one.title in seen:
            raise BadScenarioError(one.file, f"{one.title!r} is also in {seen[one.title]}")
        seen[one.title] = one.file
    return scenarios


def all_rules() -> list[Rule]:
    """The rules in their order."""
    rules = []
    for number, entry in enumerate(_entries(RULES)):
        with Fields(entry, f"{RULES.name}[{number}]") as fields:
            rules.append(Rule(*[fields.take(key, str, "") for key in ("id", "section", "in", "rule")]))
    return rules


def load(file: Path) -> Iterator[Scenario]:
    """The scenarios of one file."""
    for number, entry in enumerate(_entries(file)):
        title = entry.get("title") if isinstance(entry, dict) else None
        yield read(entry, f"{file.name}: {title or number}", file.name)


def read(entry: object, path: str, file: str = "") -> Scenario:
    """One scenario; an unknown key is refused with its path."""
    with Fields(entry, path) as fields:
        title, rules = fields.take("title", str, ""), tuple(fields.texts("rule"))
        fields.refuse_unless(
            holds=bool(title and rules), key="title", problem="a scenario has a title and a rule"
        )
        cluster = read_cluster(fields)
        configuration = fields.read("config", _configuration) if "config" in fields else None
        cycles, resubmit = fields.take("cycles", int, 0), fields.take("resubmit", bool, False)
        refused = tuple(fields.texts("refused"))
        expectations = _expectations(fields, cluster, cycles)
    if not refused and not expectations:
        raise BadScenarioError(path, "nothing is expected")
    cycles = cycles or max(expectations, default=0) + 1
    return Scenario(title, file, rules, cluster, configuration, cycles, resubmit, refused, expectations)


def read_cluster(fields: Fields) -> Cluster:
    """The cluster that a scenario tells of."""
    now = datetime.fromisoformat(fields.take("now", str, _NOON)).astimezone(UTC)
    cluster = Cluster(now)
    for name, lines in fields.each("nodes"):
        cluster.add_nodes(name, lines)
    for name, lines in fields.each("queues"):
        cluster.add_queue(name, lines)
    for name, lines in fields.each("namespaces"):
        cluster.add_namespace(name, lines)
    for name, lines in fields.each("others"):
        cluster.add_others(name, lines)
    for name, lines in fields.each("running"):
        cluster.add_group(name, lines, running=True)
    for name, lines in fields.each("pending"):
        cluster.add_group(name, lines, running=False)
    for name, lines in fields.each("volumes"):
        cluster.add_volume(name, lines)
    for name, lines in fields.each("budgets"):
        cluster.add_budget(name, lines)
    cluster.check()
    return cluster


def _expectations(fields: Fields, cluster: Cluster, cycles: int) -> dict[int, Expectation]:
    read_one = partial(read_expectation, names=cluster.names)
    found: dict[int, Expectation] = {}
    if "expect" in fields:
        found[0] = fields.read("expect", read_one)
    for number, value in enumerate(fields.take("then", list, []), start=1):
        found[number] = read_one(value, f"{fields.path}.then[{number - 1}]")
    if "last" in fields:
        fields.refuse_unless(
            holds=cycles > max(found, default=0), key="last", problem="say after how many `cycles`"
        )
        found[cycles - 1] = fields.read("last", read_one)
    return found


def _configuration(value: object, path: str) -> dict[str, object]:
    """The scheduler's configuration: what is different about `plugins`, `tiers` of names, and `raw` parts."""
    configuration: dict[str, object] = {}
    with Fields(value, path) as fields:
        if "actions" in fields:
            configuration["actions"] = fields.take("actions", str, "")
        changed = dict(fields.every("plugins"))
        tiers = fields.take("tiers", list, [list(tier) for tier in _TIERS])
        new = [name for name in changed if not any(name in tier for tier in tiers)]
        configuration["tiers"] = [
            {"plugins": _plugins(tier, changed)} for tier in [*tiers[:-1], [*tiers[-1], *new]]
        ]
        if arguments := fields.every("configurations"):
            configuration["configurations"] = [{"name": name, "arguments": one} for name, one in arguments]
        configuration |= dict(fields.every("raw"))
    return configuration


def _plugins(tier: list[str], changed: dict[str, object]) -> list[dict[str, object]]:
    """The plugins of a tier; one that is `false` is left out."""
    plugins = []
    for name in tier:
        options = changed.get(name, {})
        if isinstance(options, dict):
            plugins.append({"name": name, **options})
    return plugins


def _entries(file: Path) -> list[object]:
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise BadScenarioError(file.name, "expected a list")
    return entries
