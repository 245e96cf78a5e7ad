"""`maar queue` and `vcctl queue`."""
