"""Rules that Kubernetes keeps in code for its built-in kinds, in Kubernetes' words."""
