"""How a random cluster grows from its recipe: nodes, queues, then groups that run while there is room."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import Final

from maar.core.model.queue import DEFAULT, ROOT
from maar.core.model.resources import Resources
from properties.cluster_manifests import (
    CLASSES,
    GROUP,
    Document,
    GroupPlan,
    Room,
    ago,
    budget,
    complicate,
    neighbourhood,
    node,
    pod_group,
    pods_of,
    priority_class,
    quantities,
    queue,
    quota,
)  # fmt: skip
from properties.cluster_recipe import Reach, Recipe, Style

RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
NAMESPACES: Final = ("alpha", "beta", "gamma")
GIB: Final = 2**30
EARLY: Final = 0.65  # the part of the groups that came first, and mostly run


class Lot(StrEnum):
    """What has become of a group."""

    RUNS = "all of it runs"
    RUNS_IN_PART = "what it needs runs, perhaps more"
    WAITS = "nothing of it runs"
    STARVES = "too little of it runs"
    DONE = "it has finished"


class Growth:
    """A cluster while it grows."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.resources = RESOURCES[: recipe.resources]
        self.single, self.beyond = recipe.reach is Reach.SINGLE, recipe.reach is Reach.BEYOND
        self.documents: list[Document] = []
        self.nodes: dict[str, Document] = {}
        self.room: dict[str, Room] = {}
        self.leaves: list[str] = []

    def grow(self) -> list[Document]:
        """Everything, in no particular order."""
        for number in range(self.recipe.nodes):
            self.add_node(number)
        self.add_queues()
        self.documents += [priority_class(name, value) for name, value in CLASSES.items() if name]
        for namespace in NAMESPACES:
            rng = self.recipe.random(namespace)
            if rng.random() < 0.5:
                self.documents.append(quota(namespace, rng.choice(("1", "2", "3", "5", "0", "2.5", "many"))))
        self.add_outsiders()
        for number in range(self.recipe.groups):
            self.add_group(number)
        self.add_promise()
        self.recipe.random("order").shuffle(self.documents)
        return self.documents

    # --- nodes and queues

    def add_node(self, number: int) -> None:
        """One of a few kinds; some take no pods, or are not ready. A single node has the room of several."""
        rng = self.recipe.random(f"node {number}")
        cpu = rng.choice((4, 6, 8, 8, 12)) * (rng.randint(1, 4) if self.single else 1)
        room = {"cpu": cpu * 1000, "memory": cpu * rng.choice((2, 4)) * GIB}
        room["nvidia.com/gpu"] = rng.choice((0, 2, 4, 8)) if len(self.resources) == len(RESOURCES) else 0
        room["pods"] = rng.choice((110, 110, 110, 6, 12))
        made = node(f"n{number}", room, {"zone": rng.choice("ab"), "disk": rng.choice(("ssd", "hdd"))})
        if not self.single and rng.random() < 0.08:
            made["spec"]["unschedulable"] = True
        elif not self.single and rng.random() < 0.06:
            made["status"]["conditions"][0]["status"] = rng.choice(("False", "Unknown"))
        if self.beyond and rng.random() < 0.2:
            effect = rng.choice(("NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"))
            made["spec"]["taints"] = [{"key": "kept", "value": rng.choice("xy"), "effect": effect}]
        self.documents.append(made)
        self.nodes[f"n{number}"], self.room[f"n{number}"] = made, room

    def add_queues(self) -> None:
        """A tree of at most three levels."""
        rng = self.recipe.random("tree")
        parents, level = dict[str, str](), {ROOT: 0}
        for number in range(self.recipe.queues):
            name = f"q{number}"
            parents[name] = (
                ROOT if rng.random() < 0.5 else rng.choice([one for one in level if level[one] < 3])
            )
            level[name] = level[parents[name]] + 1
        inner = set(parents.values())
        self.leaves = [name for name in parents if name not in inner]
        if rng.random() < 0.3:
            self.leaves.append(DEFAULT)
        self.documents += [self.one_queue(name, parent, inner) for name, parent in parents.items()]

    def one_queue(self, name: str, parent: str, inner: set[str]) -> Document:
        """A queue whose amounts lie around what it would get if all leaves were alike."""
        rng, is_leaf = self.recipe.random(name), name not in inner
        alike = {
            one: sum(room[one] for room in self.room.values()) // len(self.leaves) for one in self.resources
        }
        spec: Document = {"weight": rng.choice((1, 1, 1, 2, 3, 4))}
        if parent != ROOT or rng.random() < 0.5:
            spec["parent"] = parent
        greed = self.recipe.random("greed").choice(((1, 2), (1, 2, 3), (4, 6, 8)))
        reserved = around(rng, alike, greed) if rng.random() < (0.35 if is_leaf else 0.15) else {}
        if reserved:
            spec["guarantee"] = {"resource": quantities(reserved)}
        if rng.random() < 0.1:
            spec.setdefault("guarantee", {})["percentage"] = {"cpu": rng.choice((10, 20, 25, 50))}
        elif rng.random() < 0.25:
            most = around(rng, alike, (2, 4, 6, 8))
            above = {one: max(amount, reserved.get(one, 0)) for one, amount in most.items()}
            spec["capability"] = quantities(above if is_leaf else most)
        if is_leaf and rng.random() < 0.05:
            spec["request"] = quantities(around(rng, alike, (2, 4, 8)))
        share = self.recipe.random("soft guarantees").choice((0, 0, 0.4, 0.8))
        soft = self.recipe.random(f"{name} is entitled")
        if soft.random() < (share if is_leaf else share / 2):
            spec["deserved"] = quantities(around(soft, alike, (1, 2, 3, 4, 6)))
        for field, value, chance in (
            ("priority", rng.choice((1, 5)), 0.2),
            ("reclaimable", False, 0.1),
            ("dequeueStrategy", "fifo", 0.1),
            ("state", "Closed", 0.08),
        ):
            if rng.random() < chance:
                spec[field] = value
        return queue(name, spec, rng.randrange(10_000, 90_000) * 10 + int(name[1:]))

    # --- what runs and what waits

    def add_outsiders(self) -> None:
        """Pods of other schedulers, which hold room and are none of ours."""
        rng = self.recipe.random("outsiders")
        for number in range(rng.choice((0, 0, 0, 1, 2))):
            plan = GroupPlan(
                name=f"outside{number}", namespace="others", request={"cpu": rng.choice((500, 1000))}
            )
            [pod] = pods_of(plan)
            place = self.find_room(plan, rng)
            if place is not None:
                del pod["metadata"]["annotations"]
                pod["spec"] |= {"schedulerName": "default-scheduler", "nodeName": place}
                pod["status"]["phase"] = "Running"
                self.documents.append(pod)

    def add_group(self, number: int) -> None:
        """A pod group and its pods, as many of them running as its lot and the room allow."""
        rng = self.recipe.random(f"group {number}")
        lot, plan = self.lot(number, rng), self.group_plan(number, rng)
        if self.beyond:
            port = rng.choice((8080, 9090)) if rng.random() < 0.12 else 0
            plan = replace(plan, pod_extras=neighbourhood(plan.name, rng), keeps_apart=False, host_port=port)
            if rng.random() < 0.05:
                plan = replace(plan, marked_pod="asks for nothing")
        pods = pods_of(plan)
        running = self.start(plan, pods, lot, rng)
        group = pod_group(plan, phase(plan, lot, running, rng))
        if 0 < running < plan.min_member and rng.random() < 0.8:
            since = ago(rng.choice((30, 90, 600, 3600)))
            condition = {"type": "Unschedulable", "status": "True", "lastTransitionTime": since}
            group["status"]["conditions"] = [condition]
        for pod in pods:
            if "nodeName" in pod["spec"] and rng.random() < 0.03:
                pod["metadata"]["deletionTimestamp"] = ago(5)
        self.documents += [group, *pods]
        if self.beyond:
            complicate(plan, group, pods, rng)
            self.documents += [budget(plan, rng)] if rng.random() < 0.2 else []

    def lot(self, number: int, rng: Random) -> Lot:
        """The earlier groups run, the later ones wait; with exceptions."""
        style, early = self.recipe.style, number < self.recipe.groups * EARLY
        if rng.random() < 0.05:
            return Lot.DONE
        if rng.random() < (0.3 if style is Style.STARVED else 0.04):
            return Lot.STARVES
        if style is Style.MIXED or (style is Style.QUIET and early):
            return rng.choice((Lot.RUNS, Lot.RUNS_IN_PART, Lot.WAITS))
        if early:
            return Lot.RUNS if rng.random() < 0.8 else Lot.RUNS_IN_PART
        return Lot.WAITS

    def group_plan(self, number: int, rng: Random) -> GroupPlan:
        """Size, minimum, requests, place in the tree and importance, as the style has it."""
        style, early = self.recipe.style, number < self.recipe.groups * EARLY
        leaf, namespace = rng.choice(self.leaves), rng.choice(NAMESPACES)
        classes: Sequence[str] = ("", "", "", "low", "middle", "high")
        if style in (Style.LENT, Style.STARVED):
            hog, *others = self.recipe.random("hogs").sample(self.leaves, len(self.leaves))
            leaf = hog if early and rng.random() < 0.8 else rng.choice(others or [hog])
        elif style is Style.RANKED:
            leaf, classes = (
                rng.choice(self.leaves[:2]),
                ("low", "low", "") if early else ("middle", "high", ""),
            )
        elif style is Style.CROWDED:
            leaf, classes = rng.choice(self.leaves[:2]), ("", "", "", "low")
            namespace = NAMESPACES[0] if early else rng.choice(NAMESPACES[1:])
        size = rng.choice((1, 1, 1, 2, 2, 3, 4, 5, 6) if early else (1, 1, 1, 1, 2, 2, 3, 4))
        minimum = (
            size
            if rng.random() < (0.8 if style is Style.STARVED else 0.4)
            else rng.randint(0 if rng.random() < 0.2 else 1, size)
        )
        plan = GroupPlan(
            name=f"g{number}",
            namespace=namespace if rng.random() > 0.04 else "kube-system",
            queue=leaf if rng.random() > 0.02 else rng.choice(("nowhere", ROOT)),
            size=size,
            min_member=minimum if rng.random() > 0.03 else size + 1,
            request=self.request(rng),
            priority_class=rng.choice(classes),
            age=rng.randrange(1000, 9000) * 20 + number,
            never=rng.random() < 0.08,
            preemptable=rng.choice(("false", "false", "true")) if rng.random() < 0.1 else None,
        )
        return with_extras(plan, rng)

    def request(self, rng: Random) -> Room:
        """What each pod of a group asks for; a few ask for nothing."""
        if rng.random() < 0.06:
            return {}
        request = {"cpu": rng.choice((500, 1000, 1000, 1000, 2000, 2000, 3000, 4000))}
        if "memory" in self.resources and rng.random() < 0.8:
            request["memory"] = rng.choice((1, 1, 2, 4, 8)) * GIB
        if "nvidia.com/gpu" in self.resources and rng.random() < 0.4:
            request["nvidia.com/gpu"] = rng.choice((1, 1, 2))
        elif rng.random() < 0.05:
            request["nvidia.com/gpu"] = 0
        return request

    def start(self, plan: GroupPlan, pods: list[Document], lot: Lot, rng: Random) -> int:
        """Put pods on nodes, for a gang enough or none; return how many run."""
        wanted = wanted_running(plan, lot, rng)
        before = {name: dict(room) for name, room in self.room.items()}
        places = list[str]()
        for _ in range(wanted):
            place = self.find_room(plan, rng, places)
            if place is not None:
                places.append(place)
        if len(places) < plan.min_member and lot is not Lot.STARVES:
            self.room, places = before, []
        for pod, place in zip(pods, places, strict=False):
            pod["spec"]["nodeName"], pod["status"]["phase"] = place, "Running"
        ended = pods[len(places) :] if lot is Lot.DONE else pods[-1:] if rng.random() < 0.05 else []
        for pod in ended:
            if "nodeName" not in pod["spec"]:
                pod["status"]["phase"] = rng.choice(("Succeeded", "Succeeded", "Failed"))
        return len(places)

    def find_room(self, plan: GroupPlan, rng: Random, taken: Sequence[str] = ()) -> str | None:
        """A node with room for one more pod, whose room is then taken."""
        needed = {**plan.request, "pods": 1}
        for name in rng.sample(list(self.nodes), len(self.nodes)):
            room, labels = self.room[name], self.nodes[name]["metadata"]["labels"]
            if plan.keeps_apart and name in taken:
                continue
            if plan.selector.items() <= labels.items() and all(room[one] >= needed[one] for one in needed):
                for one, amount in needed.items():
                    room[one] -= amount
                return name
        return None

    def add_promise(self) -> None:
        """Now and then somebody is being evicted, and the room is promised to a pod that waits."""
        rng = self.recipe.random("promise")
        ours = [one for one in self.documents if one["kind"] == "Pod" and "annotations" in one["metadata"]]
        victims = [one for one in ours if one["status"]["phase"] == "Running"]
        heirs = [p for p in ours if p["status"]["phase"] == "Pending" and "schedulingGates" not in p["spec"]]
        if rng.random() > 0.25 or not victims or not heirs:
            return
        victim, beneficiary = rng.choice(victims), rng.choice(heirs)
        place = self.nodes[victim["spec"]["nodeName"]]
        group = next(
            one for one in self.documents if one["kind"] == "PodGroup" and is_part_of(beneficiary, one)
        )
        needed, room = request_of(beneficiary), self.room[place["metadata"]["name"]]
        fits = all(room[one] + request_of(victim).get(one, 0) >= amount for one, amount in needed.items())
        wants = beneficiary["spec"].get("nodeSelector", {}).items()
        is_usable = not place["spec"] and place["status"]["conditions"][0]["status"] == "True"
        is_able = group["spec"]["minMember"] <= 1 and group["spec"]["queue"] in self.leaves
        if fits and is_usable and is_able and wants <= place["metadata"]["labels"].items():
            victim["metadata"]["deletionTimestamp"] = ago(3)
            key = f"{group['metadata']['namespace']}/{group['metadata']['name']}"
            victim["metadata"]["annotations"]["maar.sh/evicted-for"] = key
            beneficiary["status"]["nominatedNodeName"] = place["metadata"]["name"]
            group["status"]["phase"] = "Inqueue"


def around(rng: Random, amounts: Mapping[str, int], quarters: Sequence[int]) -> Room:
    """A part of some of the amounts, in whole CPUs, GiB and pieces."""
    step = {"cpu": 1000, "memory": GIB}
    result = {}
    for one, amount in amounts.items():
        if rng.random() < 0.7:
            unit = step.get(one, 1)
            result[one] = amount * rng.choice(quarters) // 4 // unit * unit
    return result


def with_extras(plan: GroupPlan, rng: Random) -> GroupPlan:
    """What a few groups have: minResources, tasks, selectors, pods that keep apart, a pod of its own kind."""
    if rng.random() < 0.6:
        members = (plan.min_member or 1) * rng.choice((1, 1, 1, 2))
        least = {one: amount * members for one, amount in plan.request.items()}
        plan = replace(plan, min_resources=least)
    if plan.min_member > 1 and rng.random() < 0.15:
        plan = replace(plan, min_task_member={"lead": 1, "work": rng.randint(1, plan.min_member - 1)})
    if rng.random() < 0.1:
        plan = replace(plan, selector={"zone": rng.choice("ab")})
    if rng.random() < 0.05:
        plan = replace(plan, keeps_apart=True)
    if rng.random() < 0.06:
        plan = replace(plan, marked_pod=rng.choice(("preemptable", "high", "system-cluster-critical")))
    return plan


def wanted_running(plan: GroupPlan, lot: Lot, rng: Random) -> int:
    """How many pods of a group should run."""
    match lot:
        case Lot.RUNS:
            return plan.size
        case Lot.RUNS_IN_PART:
            return rng.randint(min(plan.min_member, plan.size), plan.size)
        case Lot.STARVES:
            return rng.randint(min(1, plan.min_member - 1), plan.min_member - 1) if plan.min_member else 0
        case _:
            return 0


def phase(plan: GroupPlan, lot: Lot, running: int, rng: Random) -> str:
    """The phase that such a group would be in."""
    if lot is Lot.DONE:
        return "Completed"
    if running:
        return "Running" if running >= plan.min_member else rng.choice(("Inqueue", "Unknown"))
    if rng.random() < 0.1:
        return rng.choice(("Completed", "Running", "Unknown"))  # what earlier pods of it have left behind
    return rng.choice(("", "Pending", "Inqueue", "Inqueue", "Inqueue"))


def request_of(pod: Document) -> Resources:
    """What a pod of a random cluster asks for, itself included."""
    return Resources.parse({**pod["spec"]["containers"][0]["resources"].get("requests", {}), "pods": "1"})


def is_part_of(pod: Document, whole: Document) -> bool:
    """Whether a pod belongs to a group, or runs on a node."""
    metadata = whole["metadata"]
    if whole["kind"] == "Node":
        return bool(pod["spec"].get("nodeName") == metadata["name"])
    is_group = whole["kind"] == "PodGroup" and pod["metadata"]["namespace"] == metadata["namespace"]
    return bool(is_group and pod["metadata"].get("annotations", {}).get(GROUP) == metadata["name"])
