"""What is known of programs, as tables: their arguments, and which only read."""
