"""What a cluster cannot be without: those who tidy up after its objects."""
