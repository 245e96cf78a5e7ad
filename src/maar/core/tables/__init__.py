"""The tables: rows and columns of the cluster, kept up to date by events."""
