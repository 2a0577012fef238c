"""What the client sees of a session: its entries and events as updates."""
