"""The local sessions of one user behind the same interface as a fleet's."""
