"""Where the sessions of a fleet work: a folder or a worktree, with a sandbox or a container around their commands."""
