"""Changes to objects: the patches that clients send, and server-side apply."""
