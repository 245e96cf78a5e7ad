"""Generates what the embedded server knows of Kubernetes' API: types, OpenAPI documents and discovery."""
