"""Why groups wait: evidence from a finished cycle, and the sentences that tell it."""
