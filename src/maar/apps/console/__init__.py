"""The console: a web page over a cluster, with the rights of whoever looks."""
