"""How a provider is reached over the network, and why it is not."""
