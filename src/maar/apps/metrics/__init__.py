"""What the programs do, in numbers."""
