"""The protocols of the scripted provider: for each, what it refuses and how it writes a reply.

A protocol is pure: no clock, no socket, no state. It has its provider's rules and imports none from elsewhere.
"""
