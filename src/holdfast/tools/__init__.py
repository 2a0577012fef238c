"""What the model may do: every tool, the approval rule in front of them, and the process that keeps their children."""
