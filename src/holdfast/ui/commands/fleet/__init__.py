"""The commands of a fleet: `worker`, `fleet`, and the moves of `sessions`. Each imports the extra when it runs."""
