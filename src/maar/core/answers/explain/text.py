"""An explanation as lines of text: what is so and why, the order with its terms, and what would change it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import ceil
from textwrap import wrap
from typing import Final

from maar.core.answers.explain.ask import ChangesAnswer, GroupExplanation, StartAnswer
from maar.core.answers.explain.order_terms import Order
from maar.core.answers.explain.past_evictions import PastEviction
from maar.core.answers.explain.placement import Danger, PlacedPod, Placement
from maar.core.answers.explain.single_changes import (
    AddTolerations,
    CreateQueue,
    DeleteGroup,
    MoreNodes,
    OpenNode,
    RaiseCapability,
    RemoveGates,
    SetPriority,
    SetWeight,
    SingleChange,
)
from maar.core.answers.explain.subject import WORDS
from maar.core.model.durations import age
from maar.core.model.plan import share_text
from maar.core.model.reasons import Shortage
from maar.core.model.resources import PODS, Resources, precisely, roughly
from maar.core.reasons.node_tally import listed
from maar.core.views.drawing import Line, Part

_FEW: Final = 5  # evictions and pods that are listed
_TEENS: Final = (11, 12, 13)
_ORDERS: Final = {
    "admission": "that wait for admission",
    "fair": "whose turn it is within what queues deserve",
    "lent": "that borrow what is idle",
    "backfill": "with pods that request nothing",
}
_RULES: Final = {
    "guarantee": "It runs within the guarantee of its queue",
    "deserved": "It runs within what its queue deserves",
    "lent": "It runs on what is idle elsewhere and lent",
    "loan": "It runs on loan: alone it is more than its queue deserves",
}


def explanation_lines(one: GroupExplanation, width: int) -> Iterator[Line]:
    """The whole explanation."""
    yield from _wrapped(_summary(one), width, "bold")
    if one.reason:
        yield from _wrapped(f"{one.reason}: {one.message}.", width, indent="  ")
    for past in one.evicted_now[:_FEW]:
        yield from _wrapped(f"Pod {past.pod} is evicted now by {past.why}.", width, indent="  ")
    if one.order is not None:
        yield from _order(one, one.order, width)
    if one.nodes is not None:
        found = one.nodes
        yield ()
        kind = f"There is room for {found.fits} of {_pods(found.pods)}"
        what = f": {listed(found.clauses)}" if found.clauses else ""
        yield from _wrapped(f"Nodes: {found.taking} of {found.nodes} take one of its pods{what}.", width)
        yield from _wrapped(f"{kind} that its next turn has to place.", width, indent="  ")
    if one.placement is not None:
        yield from _placement(one, one.placement, width)
    if one.evictions:
        yield from _evictions(one.evictions, width)


def future_lines(one: GroupExplanation, width: int) -> Iterator[Line]:
    """What has to be decided again: the planned start, and the smallest changes."""
    if one.start is not None:
        yield ()
        yield from _wrapped(_start(one.start, one.message, one.now), width)
    if one.changes is not None and one.state == "waits":
        yield from _changes(one.changes, width)


def _start(start: StartAnswer, message: str, now: float) -> str:
    because = f" {start.because.replace(f': {message}', '.').rstrip('.')}." if start.because else ""
    if start.moved_from:
        because += f" The status of its pod group still says {start.moved_from}, from an earlier computation."
    if start.time is None:
        return f"Planned start: unknown.{because}"
    when = "now" if start.time <= now else f"{_time(start.time)}, in {_age(now, start.time)}"
    sure = {"exact": "exact", "bound": "by estimates", "unknown": "unknown"}[start.certainty]
    return f"Planned start: {when} ({sure}).{because}"


def _summary(one: GroupExplanation) -> str:
    what = f"{WORDS[one.kind]} {one.name}"
    subject = what[0].upper() + what[1:]
    if not one.pod_group:
        return f"{subject} waits." if one.reason else f"{subject}: {one.message}."
    queue, counts = "/".join(one.queue), one.pods
    group = f", pod group {one.pod_group}" if one.kind == "pod" else ""
    group = f", job {one.jobs[one.pod_group]}" if group and one.pod_group in one.jobs else group
    placed = ""
    if counts is not None:
        placed = f"; {counts.placed} of {_pods(counts.exist)} on nodes"
        placed += f", {counts.least} start together" if counts.least > 1 else ""
    is_one_pod = one.kind == "pod" and one.state in ("waits", "runs")
    does = {
        "waits": "runs, and waits for more of its pods" if _is_ready(one) else "waits",
        "starts": "starts now",
        "makes room": f"starts when {_pods(len(one.evicts))} that are evicted for it have gone",
        "runs": "runs",
        "is evicted": f"loses {_pods(len(one.evicted_now))} now",
        "has ended": "waits for its pods: none of them has been created"
        if _lacks_pods(one)
        else "has nothing left to run",
    }.get(one.state, one.state)
    if is_one_pod:
        does = f"runs on {one.node}" if one.node else "waits"
    created = f", {_age(one.created, one.now)} old" if one.created else ""
    return f"{subject} {does} (queue {queue}, {one.phase}{group}{placed}{created})."


def _lacks_pods(one: GroupExplanation) -> bool:
    return one.phase in ("Pending", "Inqueue") and one.pods is not None and one.pods.exist < one.pods.least


def _is_ready(one: GroupExplanation) -> bool:
    return one.pods is not None and 0 < one.pods.placed >= one.pods.least


# --- the order


def _order(one: GroupExplanation, order: Order, width: int) -> Iterator[Line]:
    yield ()
    place = f"Order: {_ordinal(order.place)} of {order.groups} groups {_ORDERS[order.kind]}"
    place += f", {_ordinal(order.in_queue)} of its queue"
    first = ""
    if order.first:
        more = f" and {order.place - 1 - len(order.first)} more" if order.place - 1 > len(order.first) else ""
        first = f"; before it {_jobs(one, order.first)}{more}"
    yield from _wrapped(f"{place}{first}.", width)
    terms, rows = order.terms, list[tuple[str, ...]]()
    for queue in terms.queues:
        weight = f"{round(queue.weight, 2):g}"
        rows.append((f"queue {queue.queue}", str(queue.priority), share_text(queue.share), weight))
    name, job = terms.namespace, terms.job
    rows.append((f"namespace {name.namespace}", "", f"{name.share:.2f}", str(name.weight)))
    ready = "" if job.is_ready else ", not ready"
    rows.append(
        (
            f"{'job' if one.kind == 'job' else 'group'} {job.name}{ready}",
            str(job.priority),
            f"{job.share:.2f}",
            "",
        )
    )
    ages = [*(queue.created for queue in terms.queues), name.created, job.created]
    shown = [
        ("", "PRIORITY", "SHARE", "WEIGHT", "AGE"),
        *((*row, _age(created, one.now) if created else "") for row, created in zip(rows, ages, strict=True)),
    ]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    for row in shown:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True)),
        ]
        yield (Part(f"  {'  '.join(cells)}".rstrip(), "dim" if row is shown[0] else ""),)
    of = "of the cluster per weight" if order.kind == "lent" else "of deserved"
    yield from _wrapped(
        f"Queues are compared by priority, share ({of}) and age, at every level; namespaces by share of the "
        "cluster per weight; its jobs by priority, readiness, share of the cluster and age.",
        width, "dim", "  ",
    )  # fmt: skip


# --- where it runs


def _placement(one: GroupExplanation, placement: Placement, width: int) -> Iterator[Line]:
    yield ()
    word = "guaranteed" if placement.rule == "guarantee" else "deserved"
    whose = "it uses" if placement.rule == "loan" else f"queue {placement.queue} uses"
    yield from _wrapped(f"{_RULES[placement.rule]}: {whose} {_shares(placement.shares, word)}.", width)
    if placement.unguarded:
        left = _shares(placement.unguarded, "guaranteed")
        yield from _wrapped(
            f"If it is reclaimed, queue {placement.queue} is left with {left}: a guarantee does not "
            "keep a group that is larger than what its queue deserves. Guarantee as much as the group needs, "
            "or make it smaller.",
            width, indent="  ",
        )  # fmt: skip
    for pod in placement.pods:
        since = f" for {_age(pod.since, one.now)}" if pod.since is not None else ""
        yield (Part(f"  {pod.pod} on {pod.node}{since}"),)
    if placement.placed > len(placement.pods):
        yield (Part(f"  and {_pods(placement.placed - len(placement.pods))} more"),)
    for text in dict.fromkeys(_suitable(pod) for pod in placement.pods):
        chosen = f"; of those that suit, {' and '.join(placement.scores)} chose" if placement.scores else ""
        yield from _wrapped(f"{text}{chosen}.", width, indent="  ")
    yield ()
    yield (Part("Who could take its place:"),)
    for danger in placement.dangers:
        yield from _wrapped(_danger(one, danger), width, indent="  ")


def _suitable(pod: PlacedPod) -> str:
    suits = "suits" if pod.suitable == 1 else "suit"
    others = f" ({listed(pod.clauses)})" if pod.clauses else ""
    return f"{pod.suitable} of {pod.nodes} nodes {suits} it{others}"


def _danger(one: GroupExplanation, danger: Danger) -> str:
    if not danger.is_possible:
        return f"{danger.action}: nobody, {danger.why}"
    text = f"{danger.action}: {danger.why}"
    if danger.until is not None:
        text += f"; protected until {_time(danger.until)} by spec.{danger.action}MinRuntime"
    if not danger.waiting:
        return f"{text}; none of those that wait now may"
    more = f" and {danger.waiting - len(danger.groups)} more" if danger.waiting > len(danger.groups) else ""
    return f"{text}; of those that wait now {_jobs(one, danger.groups)}{more} may, if that makes enough room"


def _shares(shares: Sequence[Shortage], word: str) -> str:
    named = [one for one in shares if one.resource != PODS] or list(shares)
    return ", ".join(
        f"{one.resource} {roughly(one.resource, one.used)} of {roughly(one.resource, one.limit)} {word}"
        for one in named
    )


def _evictions(evictions: Sequence[PastEviction], width: int) -> Iterator[Line]:
    yield ()
    yield (Part("Evictions:"),)
    for past in evictions[:_FEW]:
        of = f" of queue {past.queue}" if past.queue else ""
        whom = f" for {past.beneficiary}{of}" if past.beneficiary else ""
        text = f"{_time(past.time)}  pod {past.pod} by {past.action}{whom}: {past.right}"
        yield from _wrapped(text, width, indent="  ")
    if len(evictions) > _FEW:
        yield (Part(f"  and {len(evictions) - _FEW} before (-o json has them all)"),)


# --- what would change it


def _changes(found: ChangesAnswer, width: int) -> Iterator[Line]:
    yield ()
    stopped = (
        "" if found.is_complete else f", of what {found.tries} decisions could try (--within 5m tries more)"
    )
    if not found.changes:
        tried = "more capability or weight of its queues, more nodes like these, tolerations or one job less"
        yield from _wrapped(f"No single change would start it now: not {tried}{stopped}.", width)
        return
    yield from _wrapped(f"Smallest changes, each of which would start it now{stopped}:", width)
    for one in found.changes:
        evicts = ""
        if one.victims:
            more = ", ..." if len(one.victims) > _FEW else ""
            evicts = f"; it then evicts {', '.join(one.victims[:_FEW])}{more}"
        yield from _wrapped(f"- {change_text(one.change)}{evicts}", width, indent="  ")


def change_text(change: SingleChange) -> str:  # noqa: PLR0911  # a sentence for each kind
    """A change as a sentence without its end."""
    match change:
        case RaiseCapability(queues=queues, before=before):
            raised = (
                f"queue {name} to {_exactly(to)} (from {_exactly(before[name])})"
                for name, to in queues.items()
            )
            return f"raise the capability of {' and of '.join(raised)}"
        case SetWeight(queue=queue, weight=weight, before=old):
            return f"set the weight of queue {queue} to {weight} (from {old})"
        case MoreNodes(like=like, count=count, allocatable=allocatable):
            what = "1 node" if count == 1 else f"{count} nodes"
            return f"add {what} like {like} ({allocatable.summary()})"
        case DeleteGroup(job=job, group=group, pods=pods, queue=queue, priority=priority, priority_here=here):
            named = f"job {job}" if job != group.partition("/")[2] else f"pod group {group}"
            where = f"{_pods(pods)} on nodes" if pods else "it waits"
            why = f", priority {priority} above {here}" if priority > here else ""
            return f"delete {named}, or wait until it ends ({where}, queue {queue}{why})"
        case OpenNode(node=node):
            return f"let node {node} be scheduled on again (kubectl uncordon {node})"
        case AddTolerations(pods=pods, taints=taints):
            return f"let its {_pods(pods)} tolerate {' and '.join(map(str, taints))}"
        case SetPriority(priority_class=name, priority=priority, before=before):
            return f"give it priority class {name} (priority {priority} instead of {before})"
        case RemoveGates(pods=pods):
            return f"remove the scheduling gates of its {_pods(pods)}"
        case CreateQueue(queue=queue):
            return f"create queue {queue}"


def _exactly(amounts: Resources) -> str:
    return ", ".join(f"{name} {precisely(name, units)}" for name, units in sorted(amounts.items()))


def _jobs(one: GroupExplanation, groups: Sequence[str]) -> str:
    """Pod groups as people know them: by the names of their jobs."""
    return ", ".join(one.jobs.get(key, key) for key in groups)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _time(moment: float) -> str:
    return datetime.fromtimestamp(ceil(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _age(moment: float, now: float) -> str:
    return age(datetime.fromtimestamp(moment, UTC).isoformat(), now)


def _wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Line]:
    lines = wrap(
        text, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    for line in lines:
        yield (Part(line, style),)
