"""Skills and custom commands that people bring along: found, listed, expanded to prompts, and read by the model."""
