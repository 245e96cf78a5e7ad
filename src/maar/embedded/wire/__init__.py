"""Kubernetes' binary form, which kubectl sends for built-in kinds: read here, never written."""
