"""The way out of a confined command at level `network`: HTTP by name, through one proxy."""
