"""`holdfast mcp serve`: holdfast as an MCP server, so that another agent can hand over work."""
