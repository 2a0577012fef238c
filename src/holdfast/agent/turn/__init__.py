"""One turn: its states, the loop over them, its requests, its tool calls, its messages."""
