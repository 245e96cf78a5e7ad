"""Policies: filters, scores, orders and victims as callables; a profile is a tuple of them."""
