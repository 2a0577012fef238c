"""`holdfast mcp serve`: holdfast as an MCP server, to which another agent can delegate work."""
