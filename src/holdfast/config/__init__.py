"""The configuration of a run: settings, paths, and the decisions of a project or the user."""
