"""The display of a session in the client: its entries and events as updates."""
