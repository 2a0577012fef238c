"""Commands that run on while the turn goes on, and outputs that are kept."""
