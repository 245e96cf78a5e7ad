"""Read models for people: what the command line, the console and JSON all render."""
