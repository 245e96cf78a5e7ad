"""The columns: one struct of arrays per kind, snapshots of them and trials on a snapshot."""
