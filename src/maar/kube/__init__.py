"""The only code that talks to an API server."""
