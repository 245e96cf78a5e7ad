"""Room that is held for groups that have waited long, and their planned starts."""
