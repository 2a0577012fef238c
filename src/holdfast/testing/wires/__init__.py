"""The wire protocols of the scripted provider: for each, what it refuses and how it says what a script says.

A wire is pure: no clock, no socket, no state. It knows its provider's rules and takes none from elsewhere.
"""
