"""The snapshot as decisions see it, and how it changes while a cycle decides."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from reference.amounts import Amounts, Tables
from reference.configuration import Configuration
from reference.objects import Cluster, Domain, Node, Pod, PodGroup, Queue, total_request
from reference.subgroups import is_gang
from reference.topology import label_domains
from reference.units import Eviction
from reference.water_filling import ROOT, Claim, Shares, children_of, fair_shares

Places = dict[str, str]  # pod -> node

ADMITTED_PHASES: Final = ("Inqueue", "Running", "Unknown")


class State:
    """The snapshot as decisions see it, and how it changes while the cycle decides."""

    def __init__(self, cluster: Cluster, configuration: Configuration, now: datetime) -> None:
        self.cluster, self.configuration, self.now = cluster, configuration, now
        for group in cluster.groups.values():  # the phase follows the pods
            if group.phase == "Completed" and any(
                pod.group == group.name and pod.live for pod in cluster.pods.values()
            ):
                group.phase = "Pending"
        self.phase = {name: group.phase for name, group in cluster.groups.items()}
        self.bound: Places = {}
        self.promised: Places = {}
        self.evictions: list[Eviction] = []
        self.evicted: set[str] = set()
        self.unschedulable: set[str] = set()
        self.unsteady: set[str] = set()  # groups for which victims are found at some time, and later none
        self.protected_until: dict[str, datetime] = {}  # by group: when victims are no longer too young
        self.domains = cluster.domains or label_domains(configuration.topology_labels, cluster.nodes)
        self.whole = Domain(math.inf, "", frozenset(cluster.nodes))
        self.has_anti_affinity = any(pod.keeps_away_from for pod in cluster.pods.values())
        self.build_tree()
        self.pods_of: dict[str, list[Pod]] = {name: [] for name in cluster.groups}
        for pod in sorted(
            cluster.pods.values(), key=lambda pod: (-pod.priority, pod.number, pod.created, pod.position)
        ):
            if pod.group in self.pods_of:
                self.pods_of[pod.group].append(pod)
        self.budget = self.root_budget()
        self.fill_tables()
        self.beside: Tables = {}  # what those just let in have yet to take, by queue
        self.shares = self.fair_shares()

    # --- the tree and the tables

    def build_tree(self) -> None:
        """Queues in a cycle or under a missing parent are set aside."""
        paths = {name: self.path_to_root(name) for name in self.cluster.queues}
        self.path: dict[str, list[str]] = {name: path for name, path in paths.items() if path is not None}
        self.queues: dict[str, Queue] = {name: self.cluster.queues[name] for name in self.path}
        self.children = children_of(self.queues)
        self.leaves = [name for name in self.queues if not self.children[name] and name != ROOT]

    def path_to_root(self, name: str) -> list[str] | None:
        """The queue and its ancestors below the root, or None where the parents do not lead there."""
        path: list[str] = []
        while name != ROOT:
            if name not in self.cluster.queues or name in path:
                return None
            path.append(name)
            name = self.cluster.queues[name].parent
        return path

    def queue_of(self, pod: Pod) -> str | None:
        """The leaf queue that a pod counts in, if any."""
        group = self.cluster.groups.get(pod.group)
        return group.queue if group and group.queue in self.leaves else None

    def on_ready_node(self, pod: Pod) -> bool:
        """Whether a pod counts as used; those on nodes that are not ready do not, nor in the budget."""
        return pod.live and pod.node in self.cluster.nodes and self.cluster.nodes[pod.node].ready

    def usable_nodes(self) -> list[Node]:
        """Ready, schedulable nodes."""
        return [node for node in self.cluster.nodes.values() if node.ready and not node.unschedulable]

    def root_budget(self) -> Amounts:
        """The root's budget."""
        budget = Amounts()
        for node in self.usable_nodes():
            budget = budget.plus(node.allocatable)
        for pod in self.cluster.pods.values():
            if not self.on_ready_node(pod):
                continue
            unschedulable, outside = self.cluster.nodes[pod.node].unschedulable, self.queue_of(pod) is None
            if outside and not unschedulable:
                budget = budget.minus(pod.request)
            if unschedulable and not outside:
                budget = budget.plus(pod.request)
        return budget

    def fill_tables(self) -> None:
        """Terminating pods count as gone and nominated pods as placed on their node, in their own queue."""
        self.held_now: Tables = {name: Amounts() for name in self.cluster.nodes}
        # Once the terminating are gone, with promises:
        self.held_later: Tables = {name: Amounts() for name in self.cluster.nodes}
        self.used: Tables = {name: Amounts() for name in self.queues}
        self.status_used: Tables = {name: Amounts() for name in self.queues}  # until pods are gone
        for pod in self.cluster.pods.values():
            if not self.on_ready_node(pod):
                continue
            queue = self.queue_of(pod)
            self.held_now[pod.node] = self.held_now[pod.node].plus(pod.request)
            for name in [*self.path[queue], ROOT] if queue else []:
                self.status_used[name] = self.status_used[name].plus(pod.request)
            if not pod.terminating:
                self.held_later[pod.node] = self.held_later[pod.node].plus(pod.request)
                self.use(queue, pod.request)
        for pod in self.cluster.pods.values():
            if pod.nominated in self.cluster.nodes and not pod.node and pod.live and not pod.terminating:
                self.promise(pod, pod.nominated)

    def use(self, queue: str | None, request: Amounts) -> None:
        """A queue and its ancestors use this much more."""
        for name in self.path[queue] if queue else []:
            self.used[name] = self.used[name].plus(request)

    def fair_shares(self) -> Shares:
        """What queues deserve, may use and have reserved."""
        claims = {}
        for name, queue in self.queues.items():
            request = self.leaf_request(name) if queue.declared_request is None else queue.declared_request
            claims[name] = Claim(
                queue.parent,
                queue.weight,
                queue.guarantee,
                queue.percentage,
                queue.capability,
                request,
                queue.soft,
            )
        self.claims = claims
        return fair_shares(claims, self.budget)

    def leaf_request(self, leaf: str) -> Amounts:
        """The sum over its unfinished pod groups of max(`minResources`, its live pods)."""
        request = Amounts()
        for group in self.groups_in(leaf):
            if group.phase != "Completed":
                wanted = total_request(
                    pod for pod in self.pods_of[group.name] if pod.live and not pod.terminating
                )
                request = request.plus(wanted.larger(group.min_resources or Amounts()))
        return request

    # --- pods of a group

    def groups_in(self, leaf: str) -> list[PodGroup]:
        """The pod groups of a queue."""
        return [group for group in self.cluster.groups.values() if group.queue == leaf]

    def gone(self, pod: Pod) -> bool:
        """Terminating pods count as gone, and so do this cycle's victims."""
        return pod.terminating or pod.name in self.evicted

    def running(self, group: PodGroup, without: frozenset[str] = frozenset()) -> list[Pod]:
        """The pods that hold a node and could be victims."""
        return [
            pod
            for pod in self.pods_of[group.name]
            if pod.node and pod.live and not self.gone(pod) and pod.name not in without
        ]

    def is_given_a_place(self, pod: Pod) -> bool:
        """Bound in this cycle, or promised."""
        return pod.name in self.bound or pod.name in self.promised

    def placed(self, group: PodGroup) -> list[Pod]:
        """The pods that count towards `minMember`: on a node, given a place, or succeeded."""
        succeeded = [pod for pod in self.pods_of[group.name] if pod.phase == "Succeeded"]
        return (
            succeeded
            + self.running(group)
            + [pod for pod in self.pods_of[group.name] if self.is_given_a_place(pod)]
        )

    def pending(self, group: PodGroup) -> list[Pod]:
        """The pods that wait for a place, in the order in which they are placed."""
        pods = [pod for pod in self.pods_of[group.name] if not pod.node and pod.live and not self.gone(pod)]
        return [pod for pod in pods if not self.is_given_a_place(pod)]

    def holders(self, group: PodGroup) -> list[Pod]:
        """The pods whose requests count as used."""
        return [
            pod
            for pod in self.pods_of[group.name]
            if self.is_given_a_place(pod) or (self.on_ready_node(pod) and not self.gone(pod))
        ]

    def missing(self, group: PodGroup) -> tuple[int, dict[str, int]]:
        """How many pods, and how many of each task, a group lacks for `minMember` and `minTaskMember`."""
        placed = self.placed(group)
        tasks = {
            task: least - sum(pod.task == task for pod in placed)
            for task, least in group.min_task_member.items()
        }
        short_tasks = {task: lacking for task, lacking in tasks.items() if lacking > 0}
        return max(0, group.min_member - len(placed)), short_tasks

    def ready(self, group: PodGroup) -> bool:
        """Whether as many pods have a place as the group needs."""
        return is_gang(group, self.placed(group)) if group.policies else self.missing(group) == (0, {})

    def admitted(self, group: PodGroup) -> bool:
        """Whether it was let in; where enqueue is not configured, every group counts as admitted."""
        return self.phase[group.name] in ADMITTED_PHASES or "enqueue" not in self.configuration.actions

    # --- changes

    def promise(self, pod: Pod, node: str) -> None:
        """Room freed for a beneficiary is promised to its pods (`nominatedNodeName`)."""
        self.promised[pod.name] = pod.nominated = node
        self.held_later[node] = self.held_later[node].plus(pod.request)
        self.use(self.queue_of(pod), pod.request)

    def take_back_promise(self, pod: Pod) -> str:
        """A promise ends, so that the pod can bind."""
        node = self.promised.pop(pod.name)
        self.held_later[node] = self.held_later[node].minus(pod.request)
        self.use(self.queue_of(pod), Amounts().minus(pod.request))
        return node

    def bind(self, pods: Iterable[Pod], places: Places) -> None:
        """The pods go to their nodes."""
        for pod in pods:
            node = places[pod.name]
            self.bound[pod.name] = node
            self.held_now[node] = self.held_now[node].plus(pod.request)
            self.held_later[node] = self.held_later[node].plus(pod.request)
            self.use(self.queue_of(pod), pod.request)

    def evict(self, pods: Iterable[Pod], beneficiary: str, action: str) -> None:
        """The pods count as gone from here on."""
        for pod in pods:
            self.evictions.append(Eviction(pod.name, beneficiary, action))
            self.evicted.add(pod.name)
            if self.on_ready_node(pod):
                self.held_later[pod.node] = self.held_later[pod.node].minus(pod.request)
                self.use(self.queue_of(pod), Amounts().minus(pod.request))
