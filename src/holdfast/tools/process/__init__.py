"""Commands and who ends them: the supervisor, its watchdog, and what they leave."""
