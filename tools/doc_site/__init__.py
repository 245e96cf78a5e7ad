"""The documentation as a site: what is copied, what is generated, and what is checked."""
