"""The commands of a fleet: `worker`, `fleet`, and `sessions push`, `pull` and `backup`."""
