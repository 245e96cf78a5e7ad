"""What queues use and have reserved, added up over the tree, and shares as numbers to compare."""

import numpy as np

from maar.core.fairshare.tree import QueueTree
from maar.core.fairshare.water_fill import Floats, Ints


def share(used: Ints, deserved: Ints) -> Floats:
    """Give used / deserved on the resource where that is largest. [R, ...] -> [...]

    0 / 0 is 0, and x / 0 is infinite. Against the cluster's total this is the dominant share.
    """
    nothing = used == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(nothing, 0.0, used / deserved)  # [R, ...]
    return np.asarray(parts.max(axis=0, initial=0.0))


def roll_up_used(tree: QueueTree, used: Ints) -> Ints:
    """Add what leaves use to every queue above them. [R, Q] -> [R, Q]"""
    rolled = np.where(tree.is_leaf, used, 0)
    for level in reversed(tree.levels):
        rolled[:, level.parents] = np.add.reduceat(rolled[:, level.queues], level.starts, axis=1)
    return rolled


def reserved(tree: QueueTree, used: Ints, guarantee: Ints, own_guarantee: Ints) -> Ints:
    """Give what no other queue may take. [R, Q]

    A leaf holds what it uses or its guarantee, an inner queue its own guarantee or what its children hold.
    """
    own = np.minimum(own_guarantee, guarantee)
    result = np.where(tree.is_leaf, np.maximum(used, guarantee), own)
    for level in reversed(tree.levels):
        sums = np.add.reduceat(result[:, level.queues], level.starts, axis=1)
        result[:, level.parents] = np.maximum(own[:, level.parents], sums)
    return result


def sums_below(tree: QueueTree, columns: Ints) -> Ints:
    """Add up what the children of every queue have, and only those. [R, Q] -> [R, Q]"""
    sums = np.zeros_like(columns)
    for level in tree.levels:
        sums[:, level.parents] = np.add.reduceat(columns[:, level.queues], level.starts, axis=1)
    return sums
