"""What `maar scheduler` and `maar up` run: hears, decides when there is news, writes, and reports."""
