"""The report of simulations: a page with plots that needs no network, and tables as CSV."""
