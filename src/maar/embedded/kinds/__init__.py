"""What is special about the built-in kinds: rules, counts and acts that only they know."""
