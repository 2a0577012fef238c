"""Workers: processes that drive the sessions of a fleet, and may die."""
