"""Settings, described and changed: what each may be, and where it is kept."""
