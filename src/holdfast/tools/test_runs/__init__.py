"""Test runners: which commands run tests, and what their end says."""
