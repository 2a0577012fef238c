"""What the model may do: the tools, the approval rule for them, and the supervisor of their processes."""
