"""`holdfast acp`: the agent side of the Agent Client Protocol, so that an editor shows a session of holdfast."""
