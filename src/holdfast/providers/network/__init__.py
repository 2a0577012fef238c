"""How a provider is reached, and why it is not, or does not serve this account."""
