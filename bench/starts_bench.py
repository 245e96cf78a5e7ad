"""Planned starts of thousands of waiting groups, beside a plain replay of the same decisions."""

import argparse
import cProfile
import gc
import pstats
import random
import time
from collections.abc import Callable, Iterable
from typing import Final

from maar.core.answers import starts
from maar.core.answers.future import Future, Present
from maar.core.answers.starts import planned_starts
from maar.core.engine import Engine
from maar.core.model.events import Event
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, PodStatus, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.simulation.cluster import datetime

NOW: Final = 1_767_225_600.0
GIB: Final = 2**30
CPU: Final = 16_000  # of a node
QUEUES: Final = 10
SIZES: Final = (1_000, 2_000, 4_000, 8_000, 16_000)
TARGETS_S: Final = {"all": 10.0, "first 100 of each queue": 1.0}
