"""`holdfast acp`: the agent side of the Agent Client Protocol, with which an editor shows a session of holdfast."""
