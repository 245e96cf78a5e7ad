"""Crowds whose queues have soft guarantees, small ones and ones that do not all fit."""

import msgspec

from maar.core.model.queue import Queue
from maar.core.model.resources import Resources
from properties.crowds import Crowd


class EntitledCrowd(Crowd):
    """Most queues have a soft guarantee, inner ones too."""

    def _queue(self, name: str, parent: str) -> Queue:
        queue = super()._queue(name, parent)
        amounts = {"cpu": 1000 * self.rng.randint(0, 12)} if self.rng.random() < 0.7 else {}
        spec = msgspec.structs.replace(queue.spec, deserved=Resources(amounts))
        return msgspec.structs.replace(queue, spec=spec)
