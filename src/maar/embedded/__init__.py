"""An API server in your process, with virtual nodes or this machine as a node."""
