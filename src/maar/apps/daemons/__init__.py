"""Programs beside a cluster, and what each of them needs: a lease, a configuration, health and logs."""
