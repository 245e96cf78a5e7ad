"""The certificate: for every queue and resource, which constraint keeps it from getting more."""

from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from maar.core.fairshare.tree import QueueTree
from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.model.plan import Constraint

CONSTRAINTS: Final[tuple[Constraint, ...]] = get_args(Constraint)
_REQUEST, _CAPABILITY, _GUARANTEE, _FAIR_SHARE, _PARENT = range(len(CONSTRAINTS))


def bindings(
    tree: QueueTree, deserved: Ints, guarantee: Ints, request: Ints, capability: Ints, on_floor: Flags
) -> npt.NDArray[np.int8]:
    """Name what binds, as an index into CONSTRAINTS. [R, Q]

    A queue that gets just what it asks for is bound by its request. One that gets more than it asks for or is
    capped at has it from its guarantee, which binds; so it does where it is more than the queue's fair part.
    One at its capability is bound by that. Of the others, a fair share binds where a sibling holds more than
    its guarantee and could give; where none does, the parent does.
    """
    beyond = deserved > guarantee  # [R, Q]
    givers = np.zeros(deserved.shape, np.int64)
    for level in tree.levels:
        sizes = np.diff(np.append(level.starts, level.queues.stop - level.queues.start))
        sums = np.add.reduceat(beyond[:, level.queues], level.starts, axis=1, dtype=np.int64)
        givers[:, level.queues] = np.repeat(sums, sizes, axis=1)
    return np.select(
        [
            deserved == request,
            deserved > np.minimum(request, capability),
            deserved == capability,
            (deserved == guarantee) & on_floor & (guarantee > 0),
            givers > beyond,
        ],
        [_REQUEST, _GUARANTEE, _CAPABILITY, _GUARANTEE, _FAIR_SHARE],
        default=_PARENT,
    ).astype(np.int8)
