"""Preparation of a run: options, settings, project trust, the session to open."""
