"""The server room, driven over real sockets."""
