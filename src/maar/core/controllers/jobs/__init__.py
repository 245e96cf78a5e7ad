"""The controller of Volcano's jobs: from a job and its pods to what has to be written next."""
