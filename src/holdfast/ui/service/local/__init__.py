"""The local sessions of one user, behind the interface of a fleet."""
