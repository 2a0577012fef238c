"""MCP servers: their processes, connections and tools. Nothing here is imported unless a server is configured."""
