"""What a scheduler saw and how it was called, in files, and the same decisions from them again."""
