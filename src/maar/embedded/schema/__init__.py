"""What objects look like: schemas of the kinds, what breaks them, and their documentation."""
