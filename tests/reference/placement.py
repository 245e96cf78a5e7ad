"""Which nodes take the pods of a turn, in which domain: docs/specification/cycle.md, Filters.

The product has no domains yet: a topology of a group or of a subgroup names tiers, each of several
domains.
"""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from reference.amounts import Amounts
from reference.objects import Domain, Node, Pod, PodGroup, Subgroup, Topology, keeps_away, total_request
from reference.state import Places
from reference.subgroups import is_constrained
from reference.turn_order import TurnOrder


class Placement(TurnOrder):
    """A state that finds places."""

    def pods_on(self, node: Node, places: Places, leaving: set[str]) -> list[Pod]:
        """The pods of a node once the terminating and the leaving are gone and all others have come."""
        expected = {**self.promised, **self.bound, **places}
        pods = self.cluster.pods.values()
        there = [
            pod
            for pod in pods
            if expected.get(pod.name) == node.name
            or (pod.node == node.name and pod.live and not self.gone(pod))
        ]
        return [pod for pod in there if pod.name not in leaving]

    def suits(self, pod: Pod, node: Node, places: Places, leaving: set[str]) -> bool:
        """Whether a pod may go there: nodeSelector, and anti-affinity on one node."""
        if any(node.labels.get(label) != value for label, value in pod.node_selector.items()):
            return False
        for other in self.pods_on(node, places, leaving) if self.has_anti_affinity else []:
            if other.name != pod.name and (keeps_away(pod, other) or keeps_away(other, pod)):
                return False
        return True

    def place(self, pods: Sequence[Pod], *, at_once: bool, victims: Sequence[Pod] = ()) -> Places | None:
        """A node for each of a group's pods, in the first domain where that works, or None.

        At once means without waiting for the terminating.
        """
        if not pods:
            return {}
        group = self.cluster.groups[pods[0].group]
        if is_constrained(group) and all(pod.nominated for pod in pods):
            places: Places | None = {}
            for pod in pods:
                if places is None:
                    break
                nominated = frozenset({pod.nominated})
                places = self.put([pod], nominated, places, at_once=at_once, victims=victims)
            if places is not None and self.keeps_topology(group, places):
                return places
        for domain in self.domains_for(group, pods, victims):
            places = self.place_in(domain, group, pods, at_once=at_once, victims=victims)
            if places is not None:
                return places
        return None

    def place_in(
        self,
        domain: Domain,
        group: PodGroup,
        pods: Sequence[Pod],
        *,
        at_once: bool,
        victims: Sequence[Pod] = (),
    ) -> Places | None:
        """The same in one domain; a subgroup with a topology goes whole into one inside that."""
        places: Places | None = {}
        for pod in pods:
            if places is None or pod.name in places:
                continue
            topology = group.policies[pod.subgroup[0]].topology if pod.subgroup else None
            if topology is None:
                places = self.put([pod], domain.nodes, places, at_once=at_once, victims=victims)
                continue
            together = [other for other in pods if other.subgroup == pod.subgroup]
            there = {
                self.where(other) for other in self.with_a_place(group) if other.subgroup == pod.subgroup
            }
            inner = self.ordered_domains(topology, there, total_request(together), domain, places, victims)
            tries = (self.put(together, one.nodes, places, at_once=at_once, victims=victims) for one in inner)
            places = next((one for one in tries if one is not None), None)
        return places

    def put(
        self,
        pods: Sequence[Pod],
        nodes: frozenset[str],
        before: Places,
        *,
        at_once: bool,
        victims: Sequence[Pod],
    ) -> Places | None:
        """A node for each pod, the nominated or the first that fits, beside those that have one before."""
        places, leaving = dict(before), {victim.name for victim in victims}
        extra, freed = defaultdict[str, Amounts](Amounts), defaultdict[str, Amounts](Amounts)
        for name, where in before.items():
            extra[where] = extra[where].plus(self.cluster.pods[name].request)
        for victim in victims:
            freed[victim.node] = freed[victim.node].plus(victim.request)
        usable = [node for node in self.usable_nodes() if node.name in nodes]
        for pod in pods:
            found = None
            for node in sorted(usable, key=lambda node: node.name != pod.nominated):
                more = extra[node.name].plus(pod.request)
                held = [self.held_later[node.name].plus(more).minus(freed[node.name])]
                if at_once:
                    held.append(self.held_now[node.name].plus(more))
                fits = all(one[name] <= node.allocatable[name] for one in held for name in pod.request)
                if fits and self.suits(pod, node, places, leaving):
                    found = node.name
                    break
            if found is None:
                return None
            places[pod.name] = found
            extra[found] = extra[found].plus(pod.request)
        return places

    # --- domains

    def with_a_place(self, group: PodGroup) -> list[Pod]:
        """The pods that keep a group in its domain: on a node, bound in this cycle or promised."""
        return self.running(group) + [pod for pod in self.pods_of[group.name] if self.is_given_a_place(pod)]

    def where(self, pod: Pod) -> str:
        """The node of a pod with a place."""
        return self.bound.get(pod.name) or self.promised.get(pod.name) or pod.node

    def allowed_domains(self, topology: Topology | None) -> list[Domain]:
        """Hard: tiers up to the highest allowed; soft: all, at last the whole cluster; none: the cluster."""
        if topology is None:
            return [self.whole]
        if topology.hard:
            return [
                domain
                for domain in self.domains
                if topology.highest is None or domain.tier <= topology.highest
            ]
        return [*self.domains, self.whole]

    def room(self, nodes: frozenset[str], asked: Amounts, places: Places, victims: Sequence[Pod]) -> Fraction:
        """How often what is asked would fit by amounts: the smallest idle ÷ asked."""
        idle = Amounts()
        for node in self.usable_nodes():
            if node.name in nodes:
                idle = idle.plus(node.allocatable).minus(self.held_later[node.name])
        idle = idle.plus(total_request(victim for victim in victims if victim.node in nodes))
        idle = idle.minus(
            total_request(self.cluster.pods[name] for name, node in places.items() if node in nodes)
        )
        return min(
            (idle[resource] / amount for resource, amount in asked.asked().items()), default=Fraction(0)
        )

    def ordered_domains(
        self,
        topology: Topology | None,
        there: set[str],
        asked: Amounts,
        within: Domain,
        places: Places,
        victims: Sequence[Pod],
    ) -> list[Domain]:
        """Lower tier first, then least room, then name; those that hold what has a place already."""
        domains = [
            Domain(domain.tier, domain.name, domain.nodes & within.nodes)
            for domain in self.allowed_domains(topology)
            if there <= domain.nodes
        ]
        if len(domains) == 1:
            return domains
        return sorted(
            domains,
            key=lambda domain: (domain.tier, self.room(domain.nodes, asked, places, victims), domain.name),
        )

    def domains_for(self, group: PodGroup, pods: Sequence[Pod], victims: Sequence[Pod] = ()) -> list[Domain]:
        """The domains for a turn of the group that places these pods."""
        if group.topology is None:
            return [self.whole]
        return self.ordered_domains(
            group.topology,
            {self.where(pod) for pod in self.with_a_place(group)},
            total_request(pods),
            self.whole,
            {},
            victims,
        )

    def keeps_topology(self, group: PodGroup, places: Places) -> bool:
        """Whether the group, and each subgroup, lies in one allowed domain, these places included."""
        nodes = {pod.name: self.where(pod) for pod in self.with_a_place(group)} | places
        parts: list[tuple[Topology | None, set[str]]] = [(group.topology, set(nodes.values()))]
        together = defaultdict[Subgroup, set[str]](set)
        for name, node in nodes.items():
            if (subgroup := self.cluster.pods[name].subgroup) is not None:
                together[subgroup].add(node)
        parts += [(group.policies[subgroup[0]].topology, there) for subgroup, there in together.items()]
        return all(
            any(there <= domain.nodes for domain in self.allowed_domains(topology))
            for topology, there in parts
        )
