"""The protocols that holdfast speaks: one module for each, without a vendor's library."""
