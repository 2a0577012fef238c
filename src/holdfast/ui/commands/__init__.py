"""The subcommands of `holdfast`."""
