"""Recipes whose clusters once broke a law, or on which the engine and the reference model once differed.

They are tried beside the random ones, every time.
"""

from typing import Final

from properties.cluster_recipe import Reach, Recipe, Style

BROKE_A_LAW: Final = {
    ("E1", Reach.BEYOND): [
        Recipe(
            171470294, 4, 1, 13, 2, Style.STARVED, Reach.BEYOND
        ),  # a half gang that cleanup makes room for
    ],
    ("E2", Reach.BEYOND): [
        Recipe(1202626812, 2, 1, 17, 2, Style.RANKED, Reach.BEYOND),  # surplus beside who was just let in
    ],
    ("E4", Reach.BEYOND): [
        Recipe(3497770429, 1, 1, 21, 1, Style.RANKED, Reach.BEYOND),  # gated pods of who was just let in
    ],
    ("enqueue", Reach.BEYOND): [
        Recipe(1269727871, 1, 1, 12, 1, Style.LENT, Reach.BEYOND),  # who starts only beside others counts
        Recipe(1022315887, 2, 3, 11, 2, Style.RANKED, Reach.BEYOND),  # ports keep a gang's pods apart
    ],
}
DIFFERED: Final = {
    Reach.SINGLE: [
        Recipe(2281670158, 1, 4, 19, 1, Style.MIXED, Reach.SINGLE),  # pods that keep apart on one node
        Recipe(2340891537, 1, 3, 16, 1, Style.CROWDED, Reach.SINGLE),  # surplus beside who was just let in
    ],
    Reach.MODEL: [],  # larger than the empty cluster less its reservations
}
