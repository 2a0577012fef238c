"""The messages of the protocol: lines, requests, answers and errors."""
