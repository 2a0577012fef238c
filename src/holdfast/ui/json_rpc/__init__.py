"""JSON-RPC over lines: the messages and the connection that an editor and another agent speak."""
