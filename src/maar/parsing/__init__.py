"""Text that people and programs hand in, read within limits."""
