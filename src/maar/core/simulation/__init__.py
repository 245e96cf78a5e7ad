"""The engine driven in virtual time: a cluster that carries out plans, and synthetic workloads."""
