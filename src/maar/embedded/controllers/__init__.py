"""Controllers of the embedded cluster: garbage, namespaces, budgets, volumes, events, batch jobs."""
