"""What a client reads of a session: one module for each dialect."""
