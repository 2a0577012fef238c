"""What happens before a run: options, settings, project trust, the session to open."""
