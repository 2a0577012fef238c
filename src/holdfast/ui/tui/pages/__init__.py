"""Pages that are opened over the screen by a command."""
