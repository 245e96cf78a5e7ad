"""The laws of fair share (F1 to F10), and that the fast kernel agrees with a slow one.

Every level rounds to whole units, so a queue n levels below the root may be almost n units off the
exact fraction. Where a law compares two answers, it says what remains of that: "one unit per level"
is n units.
"""

from dataclasses import replace
from fractions import Fraction

from hypothesis import assume

from maar.core.fairshare import QueueDemand
from maar.core.fairshare.queue_demand import LARGEST_WEIGHT
from maar.core.model.queue import ROOT
from properties.levels import Level, Shares, Sibling, own_guarantee
from properties.trees import Budget, Tree, recipes
from properties.trials import Case, by_definition, for_all_trees


def assert_same(answer: Shares, expected: Shares, names: list[str]) -> None:
    """Every figure of these queues agrees."""
    for name in names:
        assert answer[name] == expected[name], name


@for_all_trees()
def test_f1_siblings_never_deserve_more_than_their_parent_has(case: Case) -> None:
    for level in case.levels():
        assert sum(sibling.deserved for sibling in level.siblings) <= level.budget, level
        assert sum(sibling.guarantee for sibling in level.siblings) <= level.budget, level
    for resource, amount in case.shares[ROOT].deserved.items():
        assert sum(case.shares[leaf].deserved[resource] for leaf in case.tree.leaves) <= amount


@for_all_trees()
def test_f2_deserved_lies_between_floor_and_ceiling(case: Case) -> None:
    for level in case.levels():
        for sibling in level.siblings:
            bounds = sibling.guarantee, sibling.floor, sibling.deserved, sibling.ceiling
            assert 0 <= bounds[0] <= bounds[1] <= bounds[2] <= bounds[3], (level, sibling)
            if level.is_scaled_down:
                promised = Fraction(sibling.rolled.guarantee * level.budget, level.reserved)
                assert abs(sibling.guarantee - promised) < 1, (level, sibling)
            else:
                assert sibling.guarantee == sibling.rolled.guarantee, (level, sibling)
    for name, claim in case.tree.by_name.items():
        if not case.shares[name].reduced and name != ROOT:
            for resource, deserved in case.shares[name].deserved.items():
                assert deserved >= own_guarantee(case.tree, claim, resource), (name, resource)


@for_all_trees()
def test_f2_floors_are_soft_guarantees_or_the_same_part_of_each(case: Case) -> None:
    """Where they do not fit they take the whole budget, and one part of them all explains each."""
    for level in case.levels():
        if not level.is_short:
            assert all(sibling.floor == sibling.entitled for sibling in level.siblings), level
            continue
        reserved = sum(sibling.guarantee for sibling in level.siblings)
        assert sum(sibling.floor for sibling in level.siblings) == max(level.budget, reserved), level
        least, most = Fraction(0), Fraction(1)
        for sibling in level.siblings:
            soft = sibling.rolled.soft_guarantee
            if sibling.floor > sibling.guarantee:
                least = max(least, Fraction(sibling.floor - 1, soft))
            if sibling.floor < sibling.entitled:
                most = min(most, Fraction(sibling.floor + 1, soft))
        assert least < most, level


@for_all_trees()
def test_f3_a_queue_below_its_ceiling_has_a_parent_with_nothing_left(case: Case) -> None:
    """Not only to within one unit per queue: largest remainder hands out every unit."""
    for level in case.levels():
        if not all(sibling.is_satisfied for sibling in level.siblings):
            assert sum(sibling.deserved for sibling in level.siblings) == level.budget, level


@for_all_trees()
def test_f4_an_unsatisfied_queue_has_no_richer_sibling_that_does_not_stand_on_its_floor(
    case: Case,
) -> None:
    """Per weight and but for the odd unit: with one unit less it has less than the poor one with one more."""
    for level in case.levels():
        poor = [Fraction(s.deserved + 1, s.claim.weight) for s in level.siblings if not s.is_satisfied]
        rich = [Fraction(s.deserved - 1, s.claim.weight) for s in level.siblings if s.deserved > s.floor]
        if poor and rich:
            assert max(rich) < min(poor), level


@for_all_trees()
def test_f5_the_order_of_queues_does_not_matter_and_names_only_for_the_odd_unit(case: Case) -> None:
    """A name decides between siblings of the same age only, and then about one unit per level."""
    shuffled = list(case.tree.claims)
    case.rng.shuffle(shuffled)
    assert_same(case.engine(Tree(tuple(shuffled), case.tree.total)), case.shares, list(case.tree.children))

    names = [name for name in case.tree.children if name != ROOT]
    renamed = dict(zip(names, case.rng.sample(names, len(names)), strict=True)) | {ROOT: ROOT}
    claims = tuple(replace(c, name=renamed[c.name], parent=renamed[c.parent]) for c in case.tree.claims)
    answer = case.engine(Tree(claims, case.tree.total))
    slack = dict.fromkeys(case.tree.children, 0)
    for parent, children in case.tree.children.items():
        ages = {case.tree.by_name[child].created for child in children}
        is_decided_by_name = len(ages) < len(children) or slack[parent] > 0
        for child in children:
            slack[child] = slack[parent] + is_decided_by_name
            for resource, amount in case.shares[child].deserved.items():
                assert abs(answer[renamed[child]].deserved[resource] - amount) <= slack[child], (
                    child,
                    resource,
                )
            for resource, amount in case.shares[child].guarantee.items():
                assert abs(answer[renamed[child]].guarantee[resource] - amount) <= slack[child], (
                    child,
                    resource,
                )


@for_all_trees(recipes(Budget.TINY, Budget.USUAL, Budget.SCARCE))
def test_f5_units_do_not_matter(case: Case) -> None:
    """Times c in, times c out, to within one old unit per level.

    Percentages as amounts: rounded down to old units they are something else than rounded down to new ones.
    And no amounts so large that c times as much counts as less.
    """
    in_amounts = Tree(
        tuple(without_percentage(case.tree, claim) for claim in case.tree.claims), case.tree.total
    )
    assert_same(case.engine(in_amounts), case.shares, list(case.tree.children))

    c = case.rng.choice((2, 3, 10, 1000))
    claims = tuple(
        replace(
            claim,
            guarantee={resource: c * amount for resource, amount in claim.guarantee.items()},
            soft_guarantee={resource: c * amount for resource, amount in claim.soft_guarantee.items()},
            capability={resource: c * amount for resource, amount in claim.capability.items()},
            request={resource: c * amount for resource, amount in claim.request.items()},
        )
        for claim in in_amounts.claims
    )
    answer = case.engine(Tree(claims, {resource: c * amount for resource, amount in case.tree.total.items()}))
    for name, share in case.shares.items():
        for resource, amount in share.deserved.items():
            off = abs(answer[name].deserved[resource] - c * amount)
            assert off <= c * case.tree.level[name], (c, name, resource)


def without_percentage(tree: Tree, claim: QueueDemand) -> QueueDemand:
    """Return the claim with its percentages as amounts."""
    named = {*claim.guarantee, *claim.percentage}
    return replace(claim, percentage={}, guarantee={name: own_guarantee(tree, claim, name) for name in named})


@for_all_trees()
def test_f6_more_weight_never_means_less(case: Case) -> None:
    """Not one unit less where the weight is; below it, one unit at most for every level.

    Where one rises and its siblings sink, largest remainder never takes a unit from the one. But where all
    share one unit more, it may take one from somebody (the Alabama paradox), and so with the children.
    """
    names = [
        name for name, claim in case.tree.by_name.items() if claim.weight < LARGEST_WEIGHT and name != ROOT
    ]
    assume(names)
    name = case.rng.choice(names)
    claim = case.tree.by_name[name]
    heavier = case.rng.choice((claim.weight + 1, case.rng.randint(claim.weight + 1, LARGEST_WEIGHT)))
    answer = case.engine(case.tree.with_claim(replace(claim, weight=heavier)))
    for below in [name, *case.tree.below(name)]:
        slack = case.tree.level[below] - case.tree.level[name]
        for resource, amount in case.shares[below].deserved.items():
            assert answer[below].deserved[resource] >= amount - slack, (name, heavier, below, resource)


@for_all_trees()
def test_f6_removing_a_queue_never_makes_another_poorer(case: Case) -> None:
    """But for one unit per level. Another neither was part of the queue nor had it as a part.

    An inner queue claims less without one of its children. So where it sets no soft guarantee itself and
    those on its level do not fit, what is below it may get poorer.
    """
    name = case.rng.choice([name for name in case.tree.children if name != ROOT])
    gone = [name, *case.tree.below(name)]
    tree = with_nothing_new_once_a_leaf(case.tree, case.tree.by_name[name].parent).without(gone)
    answer = case.engine(tree)
    claims_less = {one for one in case.tree.above(name) if one != ROOT}
    for other in tree.children:
        if name not in case.tree.below(other):
            for resource, amount in case.shares[other].deserved.items():
                if case.borrows_claims(other, resource, claims_less):
                    continue
                poorest = amount - tree.level[other]
                assert answer[other].deserved.get(resource, 0) >= poorest, (name, other, resource)


def with_nothing_new_once_a_leaf(tree: Tree, name: str) -> Tree:
    """Return the tree without what this queue would only claim if it had no children.

    That is its request, which counts for a leaf only, and a guarantee above its capability, which an inner
    queue cannot have. It makes no difference while there are children.
    """
    if name == ROOT:
        return tree
    claim = without_percentage(tree, tree.by_name[name])
    within = {
        resource: min(amount, claim.capability.get(resource, amount))
        for resource, amount in claim.guarantee.items()
    }
    return tree.with_claim(replace(claim, request={}, guarantee=within))


@for_all_trees()
def test_f7_a_flat_tree_is_one_level_and_a_tree_is_nothing_but_levels(case: Case) -> None:
    """One more queue above all others changes nothing; and every group of siblings is a flat tree."""
    names = [name for name in case.tree.children if name != ROOT]
    above = QueueDemand(name="above", weight=case.rng.choice((1, 5)))
    claims = (
        replace(c, parent="above" if c.parent == ROOT else c.parent)
        for c in case.tree.claims
        if c.name != ROOT
    )
    assert_same(case.engine(Tree((above, *claims), case.tree.total)), case.shares, names)

    parent = case.rng.choice([name for name, children in case.tree.children.items() if children])
    flat = Tree(
        tuple(as_leaf(case, child, ROOT) for child in case.tree.children[parent]),
        case.shares[parent].deserved,
    )
    answer = case.engine(flat)
    for child in case.tree.children[parent]:
        assert answer[child].deserved == case.shares[child].deserved, (parent, child)
        assert answer[child].guarantee == case.shares[child].guarantee, (parent, child)
        assert answer[child].binding == case.shares[child].binding, (parent, child)


@for_all_trees()
def test_f7_what_happens_inside_a_subtree_stays_there(case: Case) -> None:
    """A leaf with the same claims can stand for a subtree; and weights inside are nobody else's business."""
    inner = [name for name, children in case.tree.children.items() if children and name != ROOT]
    assume(inner)
    top = case.rng.choice(inner)
    inside = case.tree.below(top)
    outside = [name for name in case.tree.children if name not in {top, *inside}]

    pruned = case.tree.with_claim(as_leaf(case, top, case.tree.by_name[top].parent)).without(inside)
    answer = case.engine(pruned)
    assert_same(answer, case.shares, outside)
    assert answer[top].deserved == case.shares[top].deserved
    assert answer[top].guarantee == case.shares[top].guarantee
    assert answer[top].real_capability == case.shares[top].real_capability
    assert answer[top].binding == case.shares[top].binding

    name = case.rng.choice(inside)
    reweighted = replace(case.tree.by_name[name], weight=case.rng.randint(1, LARGEST_WEIGHT))
    assert_same(case.engine(case.tree.with_claim(reweighted)), case.shares, [top, *outside])


def as_leaf(case: Case, name: str, parent: str) -> QueueDemand:
    """Return a claim to exactly what a queue and all below it claim together."""
    rolled = {resource: case.rolled[resource][name] for resource in case.shares[name].deserved}
    return replace(
        case.tree.by_name[name],
        parent=parent,
        percentage={},
        guarantee={resource: claimed.guarantee for resource, claimed in rolled.items()},
        soft_guarantee={resource: claimed.soft_guarantee for resource, claimed in rolled.items()},
        request={resource: claimed.request for resource, claimed in rolled.items()},
    )


@for_all_trees()
def test_f8_asking_for_more_than_one_can_use_yields_no_more_of_what_one_can_use(case: Case) -> None:
    """To the unit, unless an inner queue claims more of soft guarantees that do not fit."""
    leaf = case.rng.choice(case.tree.leaves)
    claim = case.tree.by_name[leaf]
    usable = {resource: claim.request.get(resource, 0) for resource in case.shares[leaf].deserved}
    more = {
        resource: case.rng.choice((amount, amount + 1, 3 * amount + 7, 2**62))
        for resource, amount in usable.items()
    }
    answer = case.engine(case.tree.with_claim(replace(claim, request=more)))
    for resource, amount in usable.items():
        if case.borrows_claims(leaf, resource, case.tree.above(leaf)):
            continue
        before, after = case.shares[leaf].deserved[resource], answer[leaf].deserved[resource]
        assert min(after, amount) <= min(before, amount), (leaf, resource)


@for_all_trees()
def test_f9_whole_units_less_than_one_off_and_the_odd_ones_to_the_largest_fractions(case: Case) -> None:
    for level in case.levels():
        assert all(
            type(sibling.deserved) is int and type(sibling.guarantee) is int for sibling in level.siblings
        )
        assert sum(sibling.deserved for sibling in level.siblings) == level.target, level
        exact = level.exact()
        assert_rounded(level, [(s, s.deserved, exact[s.claim.name]) for s in level.siblings])
        if level.is_short and not level.is_scaled_down:
            floors = level.exact_floors()
            assert_rounded(level, [(s, s.floor, floors[s.claim.name]) for s in level.siblings])
        if level.is_scaled_down:
            assert sum(sibling.guarantee for sibling in level.siblings) == level.budget, level
            scaled = [Fraction(s.rolled.guarantee * level.budget, level.reserved) for s in level.siblings]
            assert_rounded(level, [(s, s.guarantee, e) for s, e in zip(level.siblings, scaled, strict=True)])


def assert_rounded(level: Level, amounts: list[tuple[Sibling, int, Fraction]]) -> None:
    """Less than one unit off; and whoever was rounded up comes before whoever was rounded down."""
    up, down = list[tuple[Fraction, tuple[float, str]]](), list[tuple[Fraction, tuple[float, str]]]()
    for sibling, whole, exact in amounts:
        assert abs(whole - exact) < 1, (level, sibling, exact)
        if exact.denominator > 1:
            (up if whole > exact else down).append((-(exact % 1), sibling.seniority))
    assert not up or not down or max(up) < min(down), (level, up, down)


@for_all_trees()
def test_f10_what_is_deserved_is_deserved_again_when_it_is_all_that_is_asked_for(case: Case) -> None:
    """To the unit, at every level."""
    claims = (
        replace(c, request=dict(case.shares[c.name].deserved)) if c.name in case.tree.leaves else c
        for c in case.tree.claims
    )
    answer = case.engine(Tree(tuple(claims), case.tree.total))
    for name, share in case.shares.items():
        assert answer[name].deserved == share.deserved, name
        assert answer[name].guarantee == share.guarantee, name
        assert answer[name].real_capability == share.real_capability, name


@for_all_trees()
def test_queues_that_do_not_lead_to_the_root_take_no_part(case: Case) -> None:
    lost = replace(case.tree.claims[0], name="lost", parent="nowhere", request={"lost": 1})
    circle = (replace(lost, name="day", parent="night"), replace(lost, name="night", parent="day"))
    own = replace(lost, name="own parent", parent="own parent")
    claims = [*case.tree.claims, lost, *circle, own, replace(lost, name="below", parent="day")]
    case.rng.shuffle(claims)
    assert case.engine(Tree(tuple(claims), case.tree.total)) == case.shares


@for_all_trees(engines=["kernel"])
def test_the_kernel_agrees_with_the_slow_implementation_in_every_figure(case: Case) -> None:
    assert_same(case.shares, by_definition(case.tree), list(case.tree.children))
