"""The journal: its entries, the parts of a response, and the Store protocol."""
