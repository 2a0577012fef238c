"""The session host: commands go in, events come out, and every surface is a client of it."""
