"""Which pods are evicted for whom: units, the search for victims, and what protects them."""
