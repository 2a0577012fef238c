"""The connections of the server, and the limits of each."""
