"""Controllers that the embedded cluster has of its own: garbage, namespaces, budgets, volumes, events."""
