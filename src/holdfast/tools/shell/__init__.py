"""What a shell command is, as bash reads it, and what is known of it. Pure; imported when a command is judged."""
