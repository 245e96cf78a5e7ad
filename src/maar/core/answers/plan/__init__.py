"""What would be decided: `ask.plans` decides, `answer.Planned` is the answer, `text` draws it."""
