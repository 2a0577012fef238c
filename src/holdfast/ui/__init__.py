"""The user interfaces: each turns the one event stream into output; none runs its own agent loop."""
