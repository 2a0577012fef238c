"""The messages of the protocol: lines, requests and answers, and what becomes of errors."""
