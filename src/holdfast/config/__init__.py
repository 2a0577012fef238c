"""What a run is configured with: settings, paths, and what a project or the user decided."""
