"""Room that is held for groups that have waited long, and their planned starts.

- `sla`: which groups hold room, and how others are placed beside it.
- `held_room`: what is added on nodes and in queues for a hold.
- `planned_start`: the earliest time at which a group finds room.
"""
