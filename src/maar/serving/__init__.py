"""HTTP servers as a part of a process, for daemons and the embedded cluster alike: answers, sockets, TLS."""
