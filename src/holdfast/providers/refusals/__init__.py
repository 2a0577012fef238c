"""The table of refusals: how providers refuse a request, and what holdfast does so that the session goes on."""
