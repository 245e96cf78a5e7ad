"""A simulation from its inputs to its report: for `maar simulate` and `maar.simulate` alike."""
