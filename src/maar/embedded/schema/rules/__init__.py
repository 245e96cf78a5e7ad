"""Rules that Kubernetes keeps in code for its built-in kinds, with Kubernetes' messages."""
