"""When waiting groups start: `ask.planned_starts` simulates; `published` are those in statuses."""
