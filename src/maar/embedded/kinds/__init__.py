"""What is special about the built-in kinds: rules, counts and operations of single kinds."""
